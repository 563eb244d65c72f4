import { z } from 'zod';
import { PERMISSIONS, ROLES } from '../../roles.js';
import { SCOPES } from '@gwk/core/scopes';
import { idOut, idText, text, visibleText } from '@gwk/core/resources/common';

/** Sessions of the console. */
export const LANGUAGES = ['pt-BR', 'en'] as const;
export type Language = (typeof LANGUAGES)[number];

const MAX_EMAIL = 254;
/** Longer passwords cost time before they are hashed. */
const MAX_PASSWORD = 200;

const LOCAL_PART = String.raw`[\w!$%&'*+=^{|}~\x60-]+(?:\.[\w!$%&'*+=^{|}~\x60-]+)*`;
const HOST_LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const EMAIL = new RegExp(`^(?=[^@]{1,64}@)${LOCAL_PART}@${HOST_LABEL}(?:\\.${HOST_LABEL})*$`);

/**
 * An e-mail of a person in lower case, for all operations, commands and claims. Mails name the e-mail of an inviter, so it
 * must read like no link and like no other e-mail: ASCII only, none of `:/?#<>,;"`. Domains of other scripts have an ASCII
 * form (`xn--`).
 */
export const email = () =>
  text(3, MAX_EMAIL)
    .regex(EMAIL, 'must be an e-mail address of ASCII letters, digits and common symbols')
    .meta({ examples: ['ana@example.com'] })
    .transform((value) => value.toLowerCase());

export const emailOut = () => z.string().meta({ examples: ['ana@example.com'] });

export const password = () => text(1, MAX_PASSWORD).meta({ examples: ['seven blue horses'] });

export const personName = () => visibleText(80).meta({ examples: ['Ana Souza'] });

/** A secret of a link or a cookie: 256 random bits. */
export const token = () => text(1, 100).meta({ examples: ['pM3mU0mJvXo3y0iF4yJc7pZ0b1wq7rJ8k2l9m0n1o2p'] });

export const SignIn = z.strictObject({ email: email(), password: password() });

/** Proves that the person, and not only the session, acts. */
export const PersonProof = z.strictObject({
  password: password().nullable().default(null).meta({
    description:
      'Of the person. Not needed if the person has none; the session must then be at most 15 minutes old.',
  }),
});

export const HandoffCreate = z.strictObject({
  email: email(),
  account: idText()
    .nullable()
    .default(null)
    .meta({
      description: 'Account whose start page the link opens; null: the first of the person.',
      examples: ['acc_0198c0de000070008000000000000001'],
    }),
});

export const HandoffOut = z.object({
  url: z.url().meta({
    description: 'Link that signs the person in once. Open it as a page; browsers refuse it in a frame.',
    examples: ['https://gwk.example.com/console/handoff#token=...'],
  }),
  expires_at: z.iso.datetime(),
});

export const HandoffSignIn = z.strictObject({ token: token() });

export const HandoffPerson = z.object({ email: emailOut(), name: z.string() });

export const SessionUser = z.object({
  id: idOut('user'),
  email: emailOut(),
  name: z.string(),
  language: z.enum(LANGUAGES),
  is_platform_admin: z.boolean(),
  has_totp: z.boolean(),
  has_passkey: z.boolean(),
  has_password: z.boolean(),
});

export const SessionAccount = z.object({
  id: idOut('account'),
  name: z.string(),
  role: z.enum(ROLES),
  scopes: z.array(z.enum(SCOPES)),
  permissions: z.array(z.enum(PERMISSIONS)).meta({ description: 'Rights that no API key has.' }),
  instance_ids: z
    .array(idOut('instance'))
    .nullable()
    .meta({ description: 'Instances that the member may use; null: all of the account.' }),
  requires_mfa: z.boolean().meta({ description: 'Members need two factors to use the account.' }),
});

export const SessionOut = z.object({
  user: SessionUser,
  csrf_token: z
    .string()
    .meta({ description: 'For the header `X-CSRF-Token` of requests that change something.' }),
  accounts: z.array(SessionAccount).meta({ description: 'At most 50, by name.' }),
  has_more_accounts: z
    .boolean()
    .meta({ description: 'There may be others, which `GET /console/api/session/accounts` finds.' }),
  requires_mfa: z.boolean().meta({
    description:
      'The gateway requires two factors of administrators of the platform, such as this person. Without them only the profile is open.',
  }),
  expires_at: z.iso.datetime(),
});
export type SessionOut = z.infer<typeof SessionOut>;

export const AccountSearchOut = z.object({ data: z.array(SessionAccount) });
