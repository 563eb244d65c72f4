import { z } from 'zod';
import { INSTANCE_STATES } from '../states.js';
import { idOut } from './common.js';

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
  /** Null with the method `code`, and between two codes. */
  qr: PairingQr.nullable(),
  pairing_code: z.string().nullable(),
});
export type PairingOut = z.infer<typeof PairingOut>;

const common = { instance_id: z.string(), timestamp: z.iso.datetime() };

/**
 * Data of the events of a pairing stream: `qr`, `paired`, `connected`, and `error`, which is the last event after a
 * failure.
 */
export const PairingStreamData = z.union([
  PairingQr,
  z.object({
    ...common,
    jid: z.string(),
    business_name: z.string().nullable(),
    platform: z.string().nullable(),
  }),
  z.object({ ...common, jid: z.string().nullable() }),
  z.object({ type: z.string(), title: z.string(), status: z.int(), detail: z.string() }),
]);
