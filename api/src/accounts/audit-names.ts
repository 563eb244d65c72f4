import { toPublicId, type IdKind } from '@gwk/core/ids';

/** References of an audit log entry as UUIDs, as stored. */
interface AuditNames {
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

/** Converts the references to public ids; `account` is null for entries without one. */
export function publicNames({ accountId, actor, action, subject }: AuditNames) {
  const kind = KINDS[action.split('.')[0]!];
  return {
    account: accountId === null ? null : toPublicId('account', accountId),
    actor: actor.startsWith(BY_KEY) ? BY_KEY + toPublicId('apiKey', actor.slice(BY_KEY.length)) : actor,
    action,
    // The policy belongs to an account or an instance; the id shows which.
    subject: kind && UUID.test(subject) ? toPublicId(kind, subject) : subject,
  };
}
