import { z } from 'zod';
import { idOut, text, visibleText } from '@gwk/core/resources/common';

/** Passkeys of a person (WebAuthn). The JSON forms are those of the Web Authentication specification, level 3. */
const MAX_CREDENTIAL_ID = 1_400;
const MAX_BYTES = 20_000;
const bytes = (max = MAX_BYTES) =>
  text(1, max)
    .regex(/^[\w-]+$/, 'must be base64url')
    .meta({ examples: ['dGVzdA'] });

const credential = {
  id: bytes(MAX_CREDENTIAL_ID),
  rawId: bytes(MAX_CREDENTIAL_ID),
  type: z.literal('public-key'),
};

export const PasskeyCreate = z.strictObject({
  name: visibleText(80).meta({ examples: ['Notebook'] }),
  credential: z
    .object({
      ...credential,
      response: z.object({
        clientDataJSON: bytes(),
        attestationObject: bytes(),
        transports: z
          .array(text(1, 20).meta({ examples: ['internal'] }))
          .max(10)
          .default([]),
      }),
    })
    .meta({ description: '`RegistrationResponseJSON` of the browser.' }),
});

export const PasskeyUse = z.strictObject({
  credential: z
    .object({
      ...credential,
      response: z.object({
        clientDataJSON: bytes(),
        authenticatorData: bytes(),
        signature: bytes(),
        userHandle: bytes().optional(),
      }),
    })
    .meta({ description: '`AuthenticationResponseJSON` of the browser.' }),
});
export type PasskeyUse = z.output<typeof PasskeyUse>;

export const PasskeyOptions = z
  .looseObject({ challenge: z.string() })
  .meta({ description: 'For `navigator.credentials`. The challenge is valid once, for 5 minutes.' });

export const PasskeyOut = z.object({
  id: idOut('passkey'),
  name: z.string(),
  host: z.string().meta({ description: 'The host name of the console at which it works.' }),
  created_at: z.iso.datetime(),
  last_used_at: z.iso.datetime().nullable(),
});

export const PasskeyList = z.object({ data: z.array(PasskeyOut) });
