import { toPublicId, type IdKind } from '@gwk/core/ids';

/** What an entry of the trail names, as the table has it: by UUIDs. */
export interface AuditNames {
  accountId: string | null;
  actor: string;
  action: string;
  subject: string;
}

const KINDS: Record<string, IdKind> = {
  account: 'account',
  instance: 'instance',
  key: 'apiKey',
  webhook: 'endpoint',
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const BY_KEY = 'key:';

/** The same by public ids, as people know them; `account` null where none is concerned. */
export function publicNames({ accountId, actor, action, subject }: AuditNames) {
  const kind = KINDS[action.split('.')[0]!];
  return {
    account: accountId === null ? null : toPublicId('account', accountId),
    actor: actor.startsWith(BY_KEY) ? BY_KEY + toPublicId('apiKey', actor.slice(BY_KEY.length)) : actor,
    action,
    // A policy is an account's or an instance's: its detail cannot tell, the id alone can be found.
    subject: kind && UUID.test(subject) ? toPublicId(kind, subject) : subject,
  };
}
