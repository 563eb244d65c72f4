import { Problem } from '@gwk/core/problems/problems';
import { OptOutCreate, OptOutListQuery, OptOutName, OptOutOut } from '../resources/opt-out.js';
import { operation } from '../http/operation.js';
import { pageSchema } from '../http/cursor.js';
import type { PageRange } from '../database/keyset-pages.js';
import { createOptOut, deleteOptOut, isShown, listOptOuts, optOutOut } from './opt-outs.js';

export const optOutOperations = [
  operation({
    name: 'listOptOuts',
    method: 'GET',
    path: '/v1/opt-outs',
    summary: 'Contacts who opted out',
    scope: 'messages:read',
    status: 200,
    query: OptOutListQuery,
    result: pageSchema(OptOutOut, 'OptOutPage'),
    unrestricted: true,
    async handle({ caller, query, services: { db, cursors } }) {
      const list = { accountId: caller.accountId, route: 'GET /v1/opt-outs', query };
      const read = (page: PageRange) => listOptOuts(db, caller, query, page);
      return cursors.page(list, read, (row) => optOutOut(row, caller));
    },
  }),

  operation({
    name: 'createOptOut',
    method: 'POST',
    path: '/v1/opt-outs',
    summary: 'Register that a contact does not want messages',
    scope: 'messages:send',
    status: 201,
    otherStatuses: { 200: 'The contact had opted out before.' },
    body: OptOutCreate,
    result: OptOutOut,
    // A stored answer that this key may not see.
    problems: ['not-found'],
    idempotent: true,
    mayReplay: (caller, kept) => isShown(kept as OptOutOut, caller),
    async handle({ caller, body, services }) {
      const { created, row } = await createOptOut(services, caller, body);
      return { status: created ? 201 : 200, body: optOutOut(row, caller) };
    },
  }),

  operation({
    name: 'deleteOptOut',
    method: 'DELETE',
    path: '/v1/opt-outs/{phone}',
    summary: 'Take an opt-out back, with the consent of the contact',
    scope: 'messages:send',
    status: 204,
    problems: ['validation-error'],
    unrestricted: true,
    async handle({ caller, params, services }) {
      const name = OptOutName.safeParse(params['phone']);
      if (!name.success) {
        const message = 'must be 10 to 15 digits, or the network id of a person';
        throw new Problem('validation-error', {
          errors: [{ path: 'phone', code: 'invalid_format', message }],
        });
      }
      await deleteOptOut(services, caller, name.data);
      return { status: 204 };
    },
  }),
];
