import { z } from 'zod';
import { INSTANCE_STATES } from '../states.js';
import { idOut } from './common.js';
import { ConnectedData, PairedData } from './event-data.js';

/** Pairing. The state `pairing` is shown while a session is open; it is not stored. */
export const PAIRING_METHODS = ['qr', 'code'] as const;
export type PairingMethod = (typeof PAIRING_METHODS)[number];

/** The operation validates `phone` itself, because its error has a code of its own. */
export const PairingCreate = z
  .strictObject({ method: z.enum(PAIRING_METHODS).nullish(), phone: z.string().max(100).nullish() })
  .nullable();
export type PairingCreate = z.infer<typeof PairingCreate>;

export const PairingQr = z.object({
  code: z.string(),
  /** Remaining time. */
  expires_in_s: z
    .int()
    .min(0)
    .meta({ examples: [20] }),
  image: z
    .string()
    .regex(/^data:image\/png;base64,/)
    .meta({ examples: ['data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA'] }),
});
export type PairingQr = z.infer<typeof PairingQr>;

export const PairingOut = z.object({
  instance_id: idOut('instance'),
  state: z.enum(['pairing', ...INSTANCE_STATES]),
  /** Null with the method `code`, between two codes, and without `instances:write`: the code links a phone. */
  qr: PairingQr.nullable(),
  /** Null without `instances:write`, like `qr`. */
  pairing_code: z.string().nullable(),
  /** Remaining time of the current code, also for callers who may not read it; null without one. */
  expires_in_s: PairingQr.shape.expires_in_s.nullable(),
  /** Why the last session ended without a device; null while one is open and after a pairing. */
  error: z.object({ reason: z.string(), detail: z.string() }).nullable(),
});
export type PairingOut = z.infer<typeof PairingOut>;

/**
 * Data of the events of a pairing stream: `qr`, `code`, `paired`, `connected`, and `error`, which is the last event after a
 * failure. Without `instances:write`, `qr` and `code` have the remaining time only.
 */
export const PairingStreamData = z.union([
  PairingQr,
  PairingQr.pick({ code: true, expires_in_s: true }),
  PairingQr.pick({ expires_in_s: true }),
  PairedData,
  ConnectedData,
  z.object({ type: z.string(), title: z.string(), status: z.int(), detail: z.string() }),
]);
