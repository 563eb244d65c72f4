import { pageSchema } from '../http/cursor.js';
import { operation } from '../http/operation.js';
import { ContactOut, ConversationListQuery, ConversationOut } from '../resources/conversation.js';
import { contactOut, conversationOut, findConversation, listContacts, listConversations } from './list.js';

export const conversationOperations = [
  operation({
    name: 'listConversations',
    method: 'GET',
    path: '/v1/conversations',
    summary: 'List conversations, most recently active first',
    scope: 'messages:read',
    status: 200,
    query: ConversationListQuery,
    result: pageSchema(ConversationOut, 'ConversationPage'),
    problems: ['not-found'],
    handle({ caller, query, services: { db, cursors } }) {
      const list = { accountId: caller.accountId, route: 'GET /v1/conversations', query };
      return cursors.page(list, (page) => listConversations(db, caller, query, page), conversationOut);
    },
  }),

  operation({
    name: 'getConversation',
    method: 'GET',
    path: '/v1/conversations/{conversation_id}',
    summary: 'A conversation',
    scope: 'messages:read',
    status: 200,
    result: ConversationOut,
    async handle({ caller, params, services: { db } }) {
      const row = await findConversation(db, caller, params['conversation_id']!);
      return { status: 200, body: conversationOut(row) };
    },
  }),

  operation({
    name: 'listContacts',
    method: 'GET',
    path: '/v1/contacts',
    summary: 'List the people of conversations, most recent contact first',
    scope: 'messages:read',
    status: 200,
    query: ConversationListQuery,
    result: pageSchema(ContactOut, 'ContactPage'),
    problems: ['not-found'],
    handle({ caller, query, services: { db, cursors } }) {
      const list = { accountId: caller.accountId, route: 'GET /v1/contacts', query };
      return cursors.page(list, (page) => listContacts(db, caller, query, page), contactOut);
    },
  }),
];
