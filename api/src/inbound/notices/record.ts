import type { LeaseIdentity } from '@gwk/core/protocol/engine';
import type { Notice } from '@gwk/core/protocol/notices';
import { parseRecipient } from '@gwk/core/ids/recipients';
import type { Database, Queryable } from '../../database/database.js';
import { fence } from '../../fencing/fence.js';
import { findAccountId } from '../../engines/names.js';
import { emit } from '../../events/emit.js';
import { changeContact } from '../../contacts/contacts.js';
import { storeUsernames, type SeenUsername } from '../../contacts/usernames.js';
import { storeSubjects } from '../../conversations/subjects.js';
import { answerCalls, type AnswerDeps } from './answer-calls.js';
import { listPeople, nameNotice, noticeEvent, type FindNames } from './events.js';

interface Report {
  notices: readonly Notice[];
  /** Null: of the API itself, for a sandbox. */
  lease: LeaseIdentity | null;
  /** Id for the event of a single notice. */
  eventId?: string;
}

/** Records calls and changes of groups, each once: its event, and the name under which a repeat is recognised. */
export async function recordNotices(
  deps: AnswerDeps,
  { instanceId }: { instanceId: string },
  { notices, lease, eventId }: Report,
): Promise<void> {
  const { database, sealer } = deps;
  const accountId = await findAccountId(database, instanceId);
  const usernames = lease === null ? [] : notices.flatMap(readUsernames);
  // First, because a repeat would not find a call that is recorded. The text has an idempotency key.
  await answerCalls(deps, { instanceId, lease, notices });
  const findNames = await gatherNames(database, { accountId, instanceId }, notices);
  await changeContact(database, async (tx) => {
    if (lease) await fence(tx, instanceId, lease);
    await storeUsernames(tx, sealer, { accountId, instanceId }, usernames);
    const added = await addSeen(tx, instanceId, notices);
    await storeSubjects(tx, instanceId, added.flatMap(readSubject));
    const drafts = added.map((notice) => noticeEvent({ accountId, instanceId }, notice, findNames));
    await emit(
      tx,
      sealer,
      eventId === undefined ? drafts : drafts.map((draft) => ({ ...draft, id: eventId })),
    );
  });
}

const readSubject = (notice: Notice) =>
  notice.kind === 'call' || notice.subject === undefined
    ? []
    : [{ id: notice.chat, subject: notice.subject }];

/** A sandbox stores no usernames of its calls and groups, because their people are not its contacts. */
function readUsernames(notice: Notice): SeenUsername[] {
  return listPeople(notice).flatMap(({ id, alt, username }) => {
    const lid = [id, alt].find((one) => one?.endsWith('@lid'));
    return lid && username ? [{ lid, username, at: new Date(notice.at) }] : [];
  });
}

/** Adds the names of the notices. @returns those that were not there, in their order */
async function addSeen(tx: Queryable, instanceId: string, notices: readonly Notice[]): Promise<Notice[]> {
  const byName = new Map(notices.map((notice) => [nameNotice(notice), notice]));
  // In one order, because concurrent calls could lock each other out otherwise.
  const names = [...byName.keys()].sort();
  const rows = await tx.$queryRaw<{ name: string }[]>`
    INSERT INTO notices_seen (instance_id, name)
    SELECT ${instanceId}::uuid, n FROM unnest(${names}::text[]) AS n
    ON CONFLICT DO NOTHING RETURNING name`;
  const added = new Set(rows.map(({ name }) => name));
  return [...byName].flatMap(([name, notice]) => (added.has(name) ? [notice] : []));
}

/** Reads the ids of people as this instance knows them. */
async function gatherNames(
  database: Pick<Database, 'contactName'>,
  { accountId, instanceId }: { accountId: string; instanceId: string },
  notices: readonly Notice[],
): Promise<FindNames> {
  const people = notices.flatMap(listPeople);
  const asked = [...new Set(people.flatMap(({ id }) => parseRecipient(id)?.name ?? []))];
  if (asked.length === 0) return () => undefined;
  const rows = await database.contactName.findMany({
    where: { accountId, name: { in: asked } },
    select: {
      name: true,
      contact: {
        select: {
          conversations: { where: { instanceId }, select: { lid: true, phone: true, username: true } },
        },
      },
    },
  });
  const found = new Map(rows.map(({ name, contact }) => [name, contact.conversations[0]]));
  return (name) => found.get(name);
}
