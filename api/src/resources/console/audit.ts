import { z } from 'zod';
import { dateTime, idOut, PageQuery, text } from '@gwk/core/resources/common';

/** The audit log of an account. */
const filters = {
  actor: text(1, 254).optional().meta({
    description: 'Who: an e-mail of a person, an id (`usr_...`, `key_...`), or an actor as entries show it.',
  }),
  action: text(1, 60)
    .optional()
    .meta({ examples: ['key', 'key.create'], description: 'An operation, or its first part.' }),
  subject: text(1, 100).optional().meta({ description: 'Id of the changed object.' }),
  since: dateTime().optional(),
  until: dateTime().optional(),
};

export const AuditQuery = PageQuery.extend(filters);
export const AuditFilterQuery = z.object(filters);
export type AuditFilterQuery = z.output<typeof AuditFilterQuery>;

export const AuditEntryOut = z.object({
  id: idOut('auditEntry'),
  at: z.iso.datetime(),
  actor: z.string().meta({ examples: ['user:usr_0199f3a27c1e7b04a1d25c3e8f902b67', 'gwk:worker'] }),
  actor_name: z.string().nullable().meta({ description: 'E-mail of the person, or name of the key.' }),
  action: z.string().meta({ examples: ['key.create'] }),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()),
});
export type AuditEntryOut = z.infer<typeof AuditEntryOut>;
