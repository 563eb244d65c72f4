/** Of libsignal, as far as it is used here. */
export interface Chain {
  chainKey: { counter: number; key?: Buffer };
  /** Of messages that others have overtaken, by counter. */
  messageKeys: Record<string, Buffer>;
}

export interface Session {
  indexInfo: { used: number; baseKey: Buffer };
  currentRatchet: {
    ephemeralKeyPair: { pubKey: Buffer };
    lastRemoteEphemeralKey: Buffer;
  };
  _chains: Record<string, Chain>;
}

/** Chains of before, in which what was overtaken may still come. As apps keep them. */
const MAX_FORMER_CHAINS = 5;
/** Keys of overtaken messages, in all sessions with one device: as many as one chain may skip at once. */
const MAX_SKIPPED = 2_000;

/**
 * What a session keeps for messages that were overtaken, cut to what apps keep: the latest. As it comes, libsignal keeps
 * all: a chain for each turn of a conversation, for ever, and as many keys as the other side chooses to skip, 2,000 with
 * each message; all of it is read and written with every message.
 */
export function trimSessions(sessions: Record<string, Session>): void {
  let left = MAX_SKIPPED;
  const latestFirst = Object.values(sessions).sort(
    (a, b) => (b.indexInfo.used || 0) - (a.indexInfo.used || 0),
  );
  for (const session of latestFirst) {
    dropFormerChains(session);
    // In the order in which they began.
    for (const chain of Object.values(session._chains).reverse()) left -= dropKeys(chain, left);
  }
}

function dropFormerChains({ _chains, currentRatchet }: Session): void {
  const current = [currentRatchet.ephemeralKeyPair.pubKey, currentRatchet.lastRemoteEphemeralKey];
  const names = current.map((key) => key.toString('base64'));
  const former = Object.keys(_chains).filter((name) => !names.includes(name));
  const dropped = former.slice(0, Math.max(0, former.length - MAX_FORMER_CHAINS));
  for (const name of dropped) delete _chains[name];
}

/** @returns how many are left */
function dropKeys(chain: Chain, max: number): number {
  const counters = Object.keys(chain.messageKeys);
  // Numbers as names: in ascending order.
  const dropped = counters.slice(0, Math.max(0, counters.length - max));
  for (const counter of dropped) delete chain.messageKeys[counter];
  return counters.length - dropped.length;
}
