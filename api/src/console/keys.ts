import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { PageQuery } from '@gwk/core/resources/common';
import { CreatedKey, KeyCreate, KeyOut } from '../resources/console/key.js';
import type { Scope } from '@gwk/core/scopes';
import type { z } from 'zod';
import { audit, byCaller } from '../accounts/audit-log.js';
import { newApiKey } from '../accounts/api-keys.js';
import type { Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import { pageSchema } from '../http/cursor.js';
import { operation } from '../http/operation.js';
import { lockAccountByName } from '../instances/projection.js';
import { readRestriction } from '../accounts/restriction.js';

const PATH = '/console/api/keys';
/** Requests per minute count per key, so the number of keys bounds the requests of an account. */
const MAX_KEYS = 100;
const MINUTE_MS = 60_000;
const MAX_AGE_MS = 10 * 366 * 24 * 60 * MINUTE_MS;

export const WITH_INSTANCES = { include: { instances: { select: { instanceId: true } } } } as const;
type KeyRow = Prisma.ApiKeyGetPayload<typeof WITH_INSTANCES>;

const listKeys = operation({
  name: 'listKeys',
  method: 'GET',
  path: PATH,
  summary: 'List API keys, newest first',
  description:
    'Without their values. A restricted member sees the keys that have no other instances than the member.',
  scope: null,
  person: 'keys:write',
  status: 200,
  query: PageQuery,
  result: pageSchema(KeyOut, 'KeyPage'),
  async handle({ caller, query, services }) {
    const { db, cursors } = services;
    const list = { accountId: caller.accountId, route: `GET ${PATH}`, query };
    return cursors.page(
      list,
      ({ before, limit }) =>
        db.apiKey.findMany({
          where: { ...visibleTo(caller), ...(before !== null && { id: { lt: before } }) },
          ...WITH_INSTANCES,
          orderBy: { id: 'desc' },
          take: limit,
        }),
      viewKey,
    );
  },
});

const createKey = operation({
  name: 'createKey',
  method: 'POST',
  path: PATH,
  summary: 'Create an API key',
  description:
    'The answer shows its value, once. A key gets no scope and no instance that its creator lacks. An account has at most 100 keys that are neither revoked nor expired; beyond, the answer is a `validation-error` with the code `too-many-keys`.',
  scope: null,
  person: 'keys:write',
  status: 201,
  problems: ['invalid-scopes', 'invalid-expiration'],
  body: KeyCreate,
  result: CreatedKey,
  async handle({ caller, body, note, services }) {
    const { key, hash } = newApiKey();
    const row = await insertKey(services.db, caller, {
      ...body,
      hash,
      expiresAt: readExpiration(body.expires_at),
    });
    note(toPublicId('apiKey', row.id));
    return { status: 201, body: { ...viewKey(row), api_key: key }, headers: ['Cache-Control', 'no-store'] };
  },
});

const revokeKey = operation({
  name: 'revokeKey',
  method: 'DELETE',
  path: `${PATH}/{key_id}`,
  summary: 'Revoke an API key',
  description: 'Holds within 2 s on every replica. A revoked key stays in the list.',
  scope: null,
  person: 'keys:write',
  status: 204,
  async handle({ caller, params, services }) {
    const id = params['key_id']!;
    await services.db.$transaction(async (tx) => {
      const row = await tx.apiKey.findFirst({ where: { AND: [{ id }, visibleTo(caller)] } });
      if (!row) throw new Problem('not-found');
      const { count } = await tx.apiKey.updateMany({
        where: { id, revokedAt: null },
        data: { revokedAt: new Date() },
      });
      if (count > 0) await audit(tx, byCaller(caller, 'key.revoke', id));
    });
    services.apiKeys.clear();
    return { status: 204 };
  },
});

interface NewKey {
  name: string;
  scopes: readonly string[];
  instance_ids: readonly string[] | null;
  hash: Buffer;
  expiresAt: Date | null;
  /** Further detail for the audit log. */
  detail?: Prisma.InputJsonObject;
}

/**
 * Stores a key that can do no more than its creator.
 * @throws Problem
 */
export async function insertKey(db: Database, caller: Caller, given: NewKey): Promise<KeyRow> {
  const { name, hash, expiresAt } = given;
  const scopes = readScopes(caller, given.scopes);
  return db.$transaction(async (tx) => {
    await checkAmount(tx, caller);
    const instances = await readRestriction(tx, caller, given.instance_ids);
    const id = newUuid();
    const detail = { name, scopes, ...(instances && { instances }), ...given.detail };
    await audit(tx, byCaller(caller, 'key.create', id, detail));
    return tx.apiKey.create({
      data: {
        id,
        accountId: caller.accountId,
        name,
        hash: new Uint8Array(hash),
        scopes,
        restricted: instances !== null,
        instances: { create: (instances ?? []).map((instanceId) => ({ instanceId })) },
        expiresAt,
      },
      ...WITH_INSTANCES,
    });
  });
}

/** A restricted member manages only keys that can do no more than the member. */
function visibleTo({ accountId, instances }: Caller): Prisma.ApiKeyWhereInput {
  if (instances === null) return { accountId };
  return { accountId, restricted: true, instances: { every: { instanceId: { in: [...instances] } } } };
}

/** Locks the account, so that parallel requests cannot pass the limit. @throws Problem `validation-error` */
async function checkAmount(tx: Prisma.TransactionClient, { accountId, accountName }: Caller): Promise<void> {
  await lockAccountByName(tx, accountName);
  const live = { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] };
  if ((await tx.apiKey.count({ where: { accountId, ...live } })) < MAX_KEYS) return;
  const message = `the account already has ${MAX_KEYS} keys; revoke one`;
  throw new Problem('validation-error', { errors: [{ path: '', code: 'too-many-keys', message }] });
}

/** @throws Problem `invalid-scopes` */
function readScopes(caller: Caller, given: readonly string[]): Scope[] {
  const scopes = [...new Set(given)];
  const allowed = scopes.filter((scope): scope is Scope => caller.scopes.has(scope as Scope));
  if (scopes.length === 0 || allowed.length < scopes.length) throw new Problem('invalid-scopes');
  return allowed;
}

/** @throws Problem `invalid-expiration` */
function readExpiration(given: string | null): Date | null {
  if (given === null) return null;
  const ahead = Date.parse(given) - Date.now();
  if (ahead < MINUTE_MS || ahead > MAX_AGE_MS) throw new Problem('invalid-expiration');
  return new Date(given);
}

export const viewKey = (row: KeyRow): z.output<typeof KeyOut> => ({
  id: toPublicId('apiKey', row.id),
  name: row.name,
  scopes: row.scopes as Scope[],
  instance_ids: row.restricted
    ? row.instances.map(({ instanceId }) => toPublicId('instance', instanceId))
    : null,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt?.toISOString() ?? null,
  revoked_at: row.revokedAt?.toISOString() ?? null,
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
});

export const keyOperations = [listKeys, createKey, revokeKey];
