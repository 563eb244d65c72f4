import { z } from 'zod';
import { SCOPES } from '../scopes.js';

/** (spec: Errors; design: items of `errors`) What `buildProblemBody` makes, as a schema. */
const FieldErrorOut = z.object({
  path: z.string().meta({ description: 'Dotted, from the root of the body; positions are numbers.' }),
  code: z.string(),
  message: z.string(),
});

export const ProblemOut = z.object({
  type: z.url().meta({ description: '`{docs_url}/problems/<code>`; stable.' }),
  title: z.string(),
  status: z.number().int().min(400).max(599),
  detail: z.string().meta({ description: 'In Portuguese; may change.' }),
  instance: z.string().meta({ description: 'The path of the request.' }),
  request_id: z.string().min(1).max(128),
  errors: z.array(FieldErrorOut).optional(),
  required_scope: z.enum(SCOPES).optional(),
});
