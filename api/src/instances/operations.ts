import { parsePolicyOverrides } from '../policy/policy.js';
import { Problem } from '@gwk/core/problems/problems';
import { PageQuery } from '@gwk/core/resources/common';
import { InstanceCreate, InstanceOut, InstanceUpdate } from '../resources/instance.js';
import { toPublicId } from '@gwk/core/ids/ids';
import { listRestriction } from '../accounts/caller.js';
import type { Instance } from '../generated/prisma/client.js';
import { formatEtag } from '../http/etag.js';
import { operation } from '../http/operation.js';
import { pageSchema } from '../http/cursor.js';
import type { PageRange } from '../database/keyset-pages.js';
import type { Answer } from '../http/respond.js';
import { createInstance, updateInstance } from './desired.js';
import { findInstance } from '../accounts/find-instance.js';
import { liveStatus, renewTerms } from '../engine-commands/ask-engine.js';
import { deleteInstanceRow } from './remove.js';
import { leavePhone } from './slot.js';
import { instanceOut } from './view.js';

/** Time for canceling the queue of a deleted instance before the answer; the operator cancels the rest. */
const CANCEL_MS = 2_000;
/** Time limit of a deletion: canceling, unlinking the device by the engine, and deleting the resource. */
const DELETE_MS = 12_000;

const shown = (status: number, row: Instance): Answer => ({
  status,
  body: instanceOut(row),
  headers: ['ETag', formatEtag(row.version)],
});

export const instanceOperations = [
  operation({
    name: 'listInstances',
    method: 'GET',
    path: '/v1/instances',
    summary: 'List instances',
    scope: 'instances:read',
    status: 200,
    query: PageQuery,
    result: pageSchema(InstanceOut, 'InstancePage'),
    async handle({ caller, query, services: { db, cursors } }) {
      const { accountId } = caller;
      const restriction = listRestriction(caller);
      const read = ({ before, limit }: PageRange) =>
        db.instance.findMany({
          where: {
            accountId,
            deletedAt: null,
            id: { ...(before !== null && { lt: before }), ...(restriction && { in: restriction }) },
          },
          orderBy: { id: 'desc' },
          take: limit,
        });
      return cursors.page({ accountId, route: 'GET /v1/instances', query }, read, instanceOut);
    },
  }),

  operation({
    name: 'createInstance',
    method: 'POST',
    path: '/v1/instances',
    summary: 'Create an instance',
    scope: 'instances:write',
    status: 201,
    body: InstanceCreate,
    result: InstanceOut,
    etag: true,
    unrestricted: true,
    idempotent: true,
    problems: [
      'instance-limit-reached',
      'sandbox-limit-reached',
      'instance-name-taken',
      'engine-unavailable',
    ],
    async handle({ caller, body, resourceId, services, note }) {
      const row = await createInstance(services, caller, { id: resourceId, body });
      note(toPublicId('instance', row.id));
      return shown(201, row);
    },
  }),

  operation({
    name: 'getInstance',
    method: 'GET',
    path: '/v1/instances/{instance_id}',
    summary: 'An instance, with its state as the engine has it now',
    scope: 'instances:read',
    status: 200,
    result: InstanceOut,
    etag: true,
    async handle({ caller, params, services }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      const live = await liveStatus(services, row);
      return { status: 200, body: instanceOut({ ...row, live }), headers: ['ETag', formatEtag(row.version)] };
    },
  }),

  operation({
    name: 'updateInstance',
    method: 'PATCH',
    path: '/v1/instances/{instance_id}',
    summary: 'Change an instance',
    scope: 'instances:write',
    status: 200,
    body: InstanceUpdate,
    result: InstanceOut,
    etag: true,
    ifMatch: true,
    problems: ['invalid-policy', 'invalid-timezone', 'instance-name-taken', 'engine-unavailable'],
    async handle({ caller, params, body, ifMatch, services }) {
      const id = params['instance_id']!;
      const policy = body.policy === undefined ? undefined : parsePolicyOverrides(body.policy ?? {});
      const { name, interactive_mode: mode, on_other_account: onOtherAccount } = body;
      const change = { id, name, mode, onOtherAccount, policy, ifMatch };
      const row = await updateInstance(services, caller, change);
      if (policy || onOtherAccount) await renewTerms(services, { id });
      return shown(200, row);
    },
  }),

  operation({
    name: 'deleteInstance',
    method: 'DELETE',
    path: '/v1/instances/{instance_id}',
    summary: 'Disconnect the device and remove the instance',
    scope: 'instances:write',
    status: 204,
    maxWorkMs: DELETE_MS,
    async handle({ caller, params, services, requestId }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      const { id } = row;
      const given = { by: caller, budgetMs: CANCEL_MS };
      const removed = await deleteInstanceRow(services.db, services.sealer, { id }, given);
      if (!removed) throw new Problem('not-found');
      if (removed.wasLinked) await leavePhone(services, row);
      // The row decides: every projection of a leftover resource is refused as deleted.
      await services.resources
        .delete(removed.place)
        .catch((error: unknown) =>
          services.log.warn(
            { err: error, request_id: requestId, instance_id: id },
            'resource of a deleted instance not deleted; the operator retries',
          ),
        );
      return { status: 204 };
    },
  }),
];
