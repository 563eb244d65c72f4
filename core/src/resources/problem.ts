import { z } from 'zod';
import { SCOPES } from '../scopes.js';

/** Second factors of a person. A backup code counts as a code of the app. */
const SECOND_FACTORS = ['totp', 'passkey'] as const;
export type SecondFactor = (typeof SECOND_FACTORS)[number];

/** Schema of the result of `buildProblemBody`. */
export const FieldErrorOut = z.object({
  path: z
    .string()
    .meta({ description: 'Dotted path from the root of the body; array positions are numbers.' }),
  code: z.string(),
  message: z.string(),
});

export const ProblemOut = z.object({
  type: z.url().meta({ description: '`{docs_url}/problems/<code>`; stable.' }),
  title: z.string(),
  status: z.number().int().min(400).max(599),
  detail: z.string().meta({ description: 'Text in the language of `Content-Language`; may change.' }),
  instance: z.string().meta({ description: 'Path of the request.' }),
  request_id: z.string().min(1).max(128),
  errors: z.array(FieldErrorOut).optional(),
  required_scope: z.enum(SCOPES).optional(),
  factors: z
    .array(z.enum(SECOND_FACTORS))
    .optional()
    .meta({ description: 'Second factors of the person, for `mfa-required`.' }),
});
