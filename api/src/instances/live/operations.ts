import { InstanceOut } from '@gwk/core/resources/instance';
import { ContactCheckOut, PresenceUpdate, ReadMarks } from '@gwk/core/resources/live';
import type { InstanceState } from '@gwk/core/states';
import { audit, byKey } from '../../accounts/audit-log.js';
import type { Instance } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';
import { operation } from '../../http/operation.js';
import { findInstance } from '../find.js';
import { instanceOut } from '../view.js';
import { isPaired } from '../pairing/sessions.js';
import { askEngine, DEADLINES, hasEngine, ANSWER_MARGIN_MS } from './ask-engine.js';
import { parseChat, markRead, showPresence } from './chats.js';
import { checkContact, checkPhone } from './contacts.js';
import { logOut } from './logout.js';

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
      await audit(services.db, byKey(caller, 'instance.logout', row.id));
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
      await audit(services.db, byKey(caller, 'instance.restart', row.id));
      return { status: 202, body: instanceOut(await findInstance(services.db, caller, id)) };
    },
  }),

  operation({
    name: 'checkContact',
    method: 'GET',
    path: `${INSTANCE}/contacts/{phone}`,
    summary: 'Whether a phone is on the network, and by which id',
    scope: 'instances:read',
    status: 200,
    result: ContactCheckOut,
    problems: ['invalid-phone', 'engine-unavailable'],
    maxWorkMs: DEADLINES['check-contact'] + ANSWER_MARGIN_MS,
    async handle({ caller, params, services }) {
      const phone = params['phone']!;
      checkPhone(phone);
      const row = await findInstance(services.db, caller, params['instance_id']!);
      return { status: 200, body: await checkContact(services, row, phone) };
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
    problems: ['invalid-phone', 'engine-unavailable'],
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
    name: 'showPresence',
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
