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
  .meta({ id: 'PairingCreate' })
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

/** The site that passkeys of the network belong to. */
export const PASSKEY_RP_ID = 'whatsapp.com';
const MAX_OPTIONS = 16_384;

/** Only the fields that gwk reads are checked. The browser gets all of them. */
export const PasskeyOptions = z
  .looseObject({
    challenge: z.string().min(1).max(1_000),
    rpId: z.literal(PASSKEY_RP_ID),
    allowCredentials: z.array(z.looseObject({ id: z.string() })).optional(),
  })
  .refine((options) => JSON.stringify(options).length <= MAX_OPTIONS, 'too long')
  .meta({ description: '`PublicKeyCredentialRequestOptionsJSON` of the network.' });
export type PasskeyOptions = z.infer<typeof PasskeyOptions>;

export const PairingPasskey = z.object({
  /** Null after the answer, and for all but the key or the sign-in that started the pairing. */
  options: PasskeyOptions.nullable(),
  expires_at: z.iso.datetime(),
  /** The code to compare with the one on the phone. Null until then, without `instances:write`, and if none is needed. */
  code: z
    .string()
    .nullable()
    .meta({ examples: ['ABCD-1234'] }),
});
export type PairingPasskey = z.infer<typeof PairingPasskey>;

const base64url = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\w-]+$/, 'must be base64url')
    .meta({ examples: ['dGVzdA'] });

export const PasskeyAnswer = z.strictObject({
  credential: z
    .object({
      id: base64url(1_400),
      rawId: base64url(1_400),
      type: z.literal('public-key'),
      response: z.object({
        clientDataJSON: base64url(8_000),
        authenticatorData: base64url(8_000),
        signature: base64url(2_000),
        userHandle: base64url(200).nullish(),
      }),
    })
    .meta({ description: '`PublicKeyCredential.toJSON()` of the assertion.' }),
});
export type PasskeyAnswer = z.infer<typeof PasskeyAnswer>;

export const PasskeyComparison = z
  .strictObject({ equal: z.boolean().nullish() })
  .meta({ id: 'PasskeyComparison' })
  .nullable();
export type PasskeyComparison = z.infer<typeof PasskeyComparison>;

export const PairingOut = z.object({
  instance_id: idOut('instance'),
  state: z.enum(['pairing', ...INSTANCE_STATES]),
  /** Null with the method `code`, between two codes, and without `instances:write`: the code links a phone. */
  qr: PairingQr.nullable(),
  /** Null without `instances:write`, like `qr`. */
  pairing_code: z.string().nullable(),
  /** Remaining time of the current code, also for callers who may not read it; null without one. */
  expires_in_s: PairingQr.shape.expires_in_s.nullable(),
  /** Set while the phone waits for a passkey. The state is `pairing`. */
  passkey: PairingPasskey.nullable(),
  /** Why the last session ended without a device; null while one is open and after a pairing. */
  error: z.object({ reason: z.string(), detail: z.string() }).nullable(),
});
export type PairingOut = z.infer<typeof PairingOut>;

/**
 * Data of the events of a pairing stream: `qr`, `code`, `passkey`, `passkey_code`, `paired`, `connected`, and `error`, which is
 * the last event after a failure. Without `instances:write`, `qr` and `code` have the remaining time only.
 */
export const PairingStreamData = z
  .union([
    PairingQr,
    PairingQr.pick({ code: true, expires_in_s: true }).meta({ id: 'PairingCode' }),
    PairingQr.pick({ expires_in_s: true }).meta({ id: 'PairingCodeTime' }),
    PairingPasskey,
    PairedData,
    ConnectedData,
    z
      .object({ type: z.string(), title: z.string(), status: z.int(), detail: z.string() })
      .meta({ id: 'PairingProblem' }),
  ])
  .meta({ id: 'PairingStreamData' });
