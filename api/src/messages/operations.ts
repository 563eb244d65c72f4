import {
  AcceptedMessageOut,
  MessageEdit,
  MessageListQuery,
  MessageOut,
  Reaction,
  SendMessage,
} from '@gwk/core/resources/message';
import type { Message } from '../generated/prisma/client.js';
import { chooseLanguage, languageHeaders } from '../http/language.js';
import { formatEtag } from '../http/etag.js';
import { operation } from '../http/operation.js';
import type { Services } from '../http/services.js';
import { pageSchema } from '../http/cursor.js';
import type { Answer } from '../http/respond.js';
import { EDIT_TIMEOUT_MS, deleteMessage, editMessage, reactToMessage } from './edit/edit.js';
import { addLids, findMessage, listMessages } from './list.js';
import { localMessageOut, messageOut } from './view.js';

const REPLAYED = ['Idempotent-Replayed', 'true'];

async function toAnswer({ db }: Services, row: Message): Promise<Answer> {
  const [shown] = await addLids(db, [row]);
  return { status: 200, body: messageOut(shown!), headers: ['ETag', formatEtag(row.version)] };
}

export const messageOperations = [
  operation({
    name: 'sendMessage',
    method: 'POST',
    path: '/v1/messages',
    summary: 'Send a message',
    scope: 'messages:send',
    status: 202,
    body: SendMessage,
    // The acceptor validates the body and handles idempotency, in batches.
    bodyAsGiven: true,
    result: AcceptedMessageOut,
    problems: [
      'not-found',
      'account-suspended',
      'invalid-message',
      'invalid-phone',
      'invalid-reply-to',
      'message-of-former-account',
      'media-not-found',
      'contact-opted-out',
      'policy-outside-hours',
      'policy-mass-send-blocked',
      'policy-new-contacts-limit',
    ],
    async handle({ body, idempotencyKey, traceparent, caller, services, note }) {
      const accepted = await services.acceptor.accept({ body, idempotencyKey, traceparent }, caller);
      note(accepted.message.id);
      const headers = accepted.replayed ? REPLAYED : undefined;
      return { status: 202, body: accepted.message, headers };
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
    result: pageSchema(MessageOut, 'MessagePage'),
    problems: ['not-found', 'invalid-phone'],
    async handle({ caller, query, exchange, services: { db, cursors } }) {
      const list = { accountId: caller.accountId, route: 'GET /v1/messages', query };
      const language = chooseLanguage(exchange);
      const page = await cursors.page(
        list,
        (range) => listMessages(db, caller, query, range),
        localMessageOut(language),
      );
      return { ...page, headers: languageHeaders(language) };
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
    async handle({ caller, params, exchange, services }) {
      const row = await findMessage(services.db, caller, params['message_id']!);
      const [shown] = await addLids(services.db, [row]);
      const language = chooseLanguage(exchange);
      const headers = ['ETag', formatEtag(row.version), ...languageHeaders(language)];
      return { status: 200, body: localMessageOut(language)(shown!), headers };
    },
  }),

  operation({
    name: 'editMessage',
    method: 'PATCH',
    path: '/v1/messages/{message_id}',
    summary: 'Edit a text message, up to 15 minutes after it was sent',
    scope: 'messages:send',
    status: 200,
    body: MessageEdit,
    result: MessageOut,
    etag: true,
    ifMatch: true,
    maxWorkMs: EDIT_TIMEOUT_MS,
    problems: [
      'account-suspended',
      'message-not-sent',
      'message-of-former-account',
      'not-editable',
      'edit-window-closed',
      'engine-unavailable',
    ],
    async handle({ caller, params, body, ifMatch, services }) {
      const request = { services, caller, id: params['message_id']! };
      return toAnswer(services, await editMessage(request, body.text, ifMatch));
    },
  }),

  operation({
    name: 'deleteMessage',
    method: 'DELETE',
    path: '/v1/messages/{message_id}',
    summary: 'Delete a message for everyone, or cancel a scheduled one',
    scope: 'messages:send',
    status: 204,
    maxWorkMs: EDIT_TIMEOUT_MS,
    problems: [
      'message-not-sent',
      'message-sending',
      'message-of-former-account',
      'not-editable',
      'engine-unavailable',
    ],
    async handle({ caller, params, services }) {
      await deleteMessage({ services, caller, id: params['message_id']! });
      return { status: 204 };
    },
  }),

  operation({
    name: 'reactToMessage',
    method: 'POST',
    path: '/v1/messages/{message_id}/reactions',
    summary: 'React to a message; an empty emoji takes the reaction back',
    scope: 'messages:send',
    status: 204,
    body: Reaction,
    idempotent: true,
    maxWorkMs: EDIT_TIMEOUT_MS,
    async mayReplay(caller, _, { params, services }) {
      return (await findMessage(services.db, caller, params['message_id']!)) !== null;
    },
    problems: ['account-suspended', 'message-not-sent', 'message-of-former-account', 'engine-unavailable'],
    async handle({ caller, params, body, services }) {
      await reactToMessage({ services, caller, id: params['message_id']! }, body.emoji);
      return { status: 204 };
    },
  }),
];
