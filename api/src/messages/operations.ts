import { MessageListQuery, MessageOut, SendMessage } from '@gwk/core/resources/message';
import { etagOf } from '../http/etag.js';
import { operation } from '../http/operation.js';
import { pageOf } from '../http/page.js';
import { findMessage, listMessages } from './list.js';
import { messageOut } from './view.js';

const REPLAYED = ['Idempotent-Replayed', 'true'];

export const messageOperations = [
  operation({
    name: 'sendMessage',
    method: 'POST',
    path: '/v1/messages',
    summary: 'Send a message',
    scope: 'messages:send',
    status: 202,
    body: SendMessage,
    // Judged with its idempotency, in groups.
    bodyAsGiven: true,
    result: MessageOut,
    problems: [
      'not-found',
      'account-suspended',
      'invalid-message',
      'invalid-phone',
      'invalid-reply-to',
      'media-not-found',
      'contact-opted-out',
      'policy-outside-hours',
      'policy-mass-send-blocked',
      'policy-new-contacts-limit',
    ],
    async handle({ body, idempotencyKey, caller, services, note }) {
      const accepted = await services.acceptor.accept({ body, idempotencyKey }, caller);
      note(idIn(accepted.body));
      if (accepted.replayed) return { status: 202, body: accepted.body, headers: REPLAYED };
      return { status: 202, body: accepted.body };
    },
  }),

  operation({
    name: 'listMessages',
    method: 'GET',
    path: '/v1/messages',
    summary: 'List messages',
    scope: 'messages:read',
    status: 200,
    query: MessageListQuery,
    result: pageOf(MessageOut),
    problems: ['not-found', 'invalid-phone'],
    async handle({ caller, query: { limit, cursor, ...filters }, services }) {
      const list = { accountId: caller.accountId, route: 'GET /v1/messages', filters };
      const after = services.cursors.read(list, cursor);
      const rows = await listMessages(services.db, caller, filters, { after, limit: limit + 1 });
      return { status: 200, body: services.cursors.page(list, limit, rows, messageOut) };
    },
  }),

  operation({
    name: 'getMessage',
    method: 'GET',
    path: '/v1/messages/{message_id}',
    summary: 'A message',
    scope: 'messages:read',
    status: 200,
    result: MessageOut,
    etag: true,
    async handle({ caller, params, services }) {
      const row = await findMessage(services.db, caller, params['message_id']!);
      return { status: 200, body: messageOut(row), headers: ['ETag', etagOf(row.version)] };
    },
  }),
];

const ID_LENGTH = 36;

/** The id of the message in its JSON, which begins with it; parsing all of it would cost more than it is worth. */
function idIn(json: string): string {
  return json.slice(BEFORE_ID, BEFORE_ID + ID_LENGTH);
}
const BEFORE_ID = '{"id":"'.length;
