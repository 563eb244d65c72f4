import { newUuid } from '@gwk/core/ids/ids';
import { PageQuery } from '@gwk/core/resources/common';
import { GroupDetailsOut, GroupOut } from '@gwk/core/resources/group';
import { InstanceOut } from '../resources/instance.js';
import { ContactCheckOut, PresenceUpdate, ReadMarks } from '@gwk/core/resources/live';
import type { InstanceState } from '@gwk/core/states';
import { audit, byCaller } from '../accounts/audit-log.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';
import type { PageRange } from '../database/keyset-pages.js';
import { pageSchema } from '../http/cursor.js';
import type { Services } from '../http/services.js';
import { operation } from '../http/operation.js';
import { findInstance } from '../accounts/find-instance.js';
import { instanceOut } from '../instances/view.js';
import { closeSession, isPaired } from '../instances/pairing/sessions.js';
import { writeStates } from '../instances/state/write.js';
import { askEngine, DEADLINES, hasEngine, ANSWER_MARGIN_MS } from '../engine-commands/ask-engine.js';
import { parseChat, markRead, showPresence } from './chats.js';
import { checkContact, parsePerson } from './contacts.js';
import { findGroup, listGroups } from './groups.js';

const INSTANCE = '/v1/instances/{instance_id}';

export const liveOperations = [
  operation({
    name: 'logoutInstance',
    method: 'POST',
    path: `${INSTANCE}/logout`,
    summary: 'Disconnect the device; pairing is needed again',
    scope: 'instances:write',
    status: 204,
    maxWorkMs: DEADLINES.logout + ANSWER_MARGIN_MS,
    idempotent: true,
    async handle({ caller, params, services }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      await logOut(services, row);
      await audit(services.db, byCaller(caller, 'instance.logout', row.id));
      return { status: 204 };
    },
  }),

  operation({
    name: 'restartInstance',
    method: 'POST',
    path: `${INSTANCE}/restart`,
    summary: 'Reconnect as soon as the network allows it',
    scope: 'instances:write',
    status: 202,
    result: InstanceOut,
    problems: ['engine-unavailable'],
    maxWorkMs: DEADLINES.restart + ANSWER_MARGIN_MS,
    idempotent: true,
    async handle({ caller, params, services }) {
      const id = params['instance_id']!;
      const row = await findInstance(services.db, caller, id);
      if (!(await isAtRest(services, row))) await askEngine(services, row, 'restart', {});
      await audit(services.db, byCaller(caller, 'instance.restart', row.id));
      return { status: 202, body: instanceOut(await findInstance(services.db, caller, id)) };
    },
  }),

  operation({
    name: 'checkContact',
    method: 'GET',
    path: `${INSTANCE}/contacts/{phone}`,
    summary: 'Whether a phone or a network id is on the network, and by which id',
    scope: 'instances:read',
    status: 200,
    result: ContactCheckOut,
    problems: ['invalid-phone', 'engine-unavailable'],
    maxWorkMs: DEADLINES['check-contact'] + ANSWER_MARGIN_MS,
    async handle({ caller, params, services }) {
      const person = parsePerson(params['phone']!);
      const row = await findInstance(services.db, caller, params['instance_id']!);
      return { status: 200, body: await checkContact(services, row, person) };
    },
  }),

  operation({
    name: 'listGroups',
    method: 'GET',
    path: `${INSTANCE}/groups`,
    summary: 'List the groups of the number, in the order of their ids',
    scope: 'instances:read',
    status: 200,
    query: PageQuery,
    result: pageSchema(GroupOut, 'GroupPage'),
    problems: ['engine-unavailable'],
    maxWorkMs: DEADLINES.groups + ANSWER_MARGIN_MS,
    async handle({ caller, params, query, services }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      let isFull = false;
      const read = async (page: PageRange) => {
        const found = await listGroups(services, row, page);
        isFull = found.isFull;
        return found.rows;
      };
      const list = { accountId: caller.accountId, route: `GET groups of ${row.id}`, query };
      return services.cursors.page(
        list,
        read,
        ({ group }) => group,
        () => isFull,
      );
    },
  }),

  operation({
    name: 'getGroup',
    method: 'GET',
    path: `${INSTANCE}/groups/{group}`,
    summary: 'Read a group of the number with its members',
    scope: 'instances:read',
    status: 200,
    result: GroupDetailsOut,
    problems: ['engine-unavailable'],
    maxWorkMs: DEADLINES.group + ANSWER_MARGIN_MS,
    async handle({ caller, params, services }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      return { status: 200, body: await findGroup(services, row, params['group']!) };
    },
  }),

  operation({
    name: 'markRead',
    method: 'POST',
    path: `${INSTANCE}/chats/{chat}/read`,
    summary: 'Mark received messages as read',
    scope: 'messages:send',
    status: 204,
    body: ReadMarks,
    problems: ['invalid-phone', 'message-of-former-account', 'engine-unavailable'],
    maxWorkMs: DEADLINES.read + ANSWER_MARGIN_MS,
    idempotent: true,
    async handle({ caller, params, body, services }) {
      const chat = parseChat(params['chat']!);
      const row = await findInstance(services.db, caller, params['instance_id']!);
      await markRead(services, row, chat, body.wa_message_ids);
      return { status: 204 };
    },
  }),

  operation({
    name: 'setPresence',
    method: 'POST',
    path: `${INSTANCE}/chats/{chat}/presence`,
    summary: 'Show the contact that somebody is typing or recording',
    scope: 'messages:send',
    status: 204,
    body: PresenceUpdate,
    problems: ['invalid-phone', 'engine-unavailable'],
    maxWorkMs: DEADLINES.presence + ANSWER_MARGIN_MS,
    idempotent: true,
    async handle({ caller, params, body, services }) {
      const chat = parseChat(params['chat']!);
      const row = await findInstance(services.db, caller, params['instance_id']!);
      await showPresence(services, row, chat, body.state);
      return { status: 204 };
    },
  }),
];

/** Whether the instance has nothing to reconnect, so that no engine is needed. */
async function isAtRest(services: Services, row: Instance): Promise<boolean> {
  const waits = row.state === 'banned' && row.bannedUntil === null;
  if (isPaired(row.state as InstanceState) && !waits) return false;
  return !(await hasEngine(services, row.id));
}

/**
 * Logs an instance out; its state becomes `pending_pair`. The engine unlinks the device and stores the state before it answers.
 * Without an engine or an answer, the row records the logout: the next connection unlinks the device, and until then reports
 * of an engine about the old link are ignored.
 */
async function logOut(services: Services, row: Instance): Promise<void> {
  await services.db.$transaction((tx) => closeSession(tx, row.id, null));
  if (await logOutByEngine(services, row)) return;
  await services.db.$transaction((tx) => logOutByRow(tx, services, row.id));
}

async function logOutByEngine(services: Services, row: Instance): Promise<boolean> {
  if (!services.live.up || !(await hasEngine(services, row.id))) return false;
  const reply = await services.live.ask(row, 'logout', {}, DEADLINES.logout);
  return reply?.ok === true;
}

async function logOutByRow(tx: Prisma.TransactionClient, { sealer }: Services, id: string): Promise<void> {
  const [row] = await tx.$queryRaw<{ state: InstanceState }[]>`
    SELECT state FROM instances WHERE id = ${id}::uuid AND deleted_at IS NULL FOR NO KEY UPDATE`;
  if (!row || row.state === 'pending_pair') return;
  await writeStates(tx, sealer, id, [{ state: 'pending_pair', at: new Date(), reason: 'logout' }]);
  if (isPaired(row.state)) await tx.instance.update({ where: { id }, data: { unlinkId: newUuid() } });
}
