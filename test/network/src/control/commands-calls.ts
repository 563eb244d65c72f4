import { endCall, offerCall, type CallOptions } from '../calls/calls.js';
import type { Network } from '../network.js';

export const callCommands = {
  /** A person calls a phone number. */
  offerCall: ({ world }: Network, { from, to, ...options }: { from: string; to: string } & CallOptions) => {
    const { id } = offerCall(world, world.people.need(from), world.people.need(to), options);
    return { id };
  },

  /** The caller hangs up, or the phone of the called person answers (`accepted_elsewhere`). */
  endCall: ({ world }: Network, { id, reason = 'timeout' }: { id: string; reason?: string }) => {
    for (const call of world.calls.values()) if (call.id === id) endCall(world, call, reason);
    return {};
  },

  calls: ({ world }: Network) =>
    [...world.calls.values()].map(({ id, caller, called, state }) => ({
      id,
      from: caller.number,
      to: called.number,
      state,
    })),
};
