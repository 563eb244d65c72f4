import { fromPublicId } from '@gwk/core/ids';
import { Problem, type FieldError } from '@gwk/core/problems';
import {
  MAX_ENDPOINTS,
  type WebhookEndpointCreate,
  type WebhookEndpointUpdate,
} from '@gwk/core/resources/webhook';
import { generateWebhookSecret } from '@gwk/core/webhook-signature';
import { audit, byKey } from '../accounts/audit-log.js';
import type { Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { lockAccountByName } from '../instances/projection.js';
import { checkWebhookUrl } from '../platform/address-guard/guard.js';
import { openWebhookSecret, sealWebhookSecret } from './secrets.js';
import type { EndpointRow } from './view.js';

/**
 * Webhook destinations. A restricted key sees those whose instances all lie within its own (design: Who may do
 * what); one that is for all instances is not for it.
 */
const WITH_INSTANCES = { instances: { select: { instanceId: true } } } as const;

export function listEndpoints(db: Database, caller: Caller): Promise<EndpointRow[]> {
  return db.webhookEndpoint.findMany({
    where: { accountId: caller.accountId, ...visibleTo(caller) },
    include: WITH_INSTANCES,
    orderBy: { id: 'desc' },
  });
}

function visibleTo({ instances }: Caller): Prisma.WebhookEndpointWhereInput {
  if (instances === null) return {};
  return { instances: { some: {}, every: { instanceId: { in: [...instances] } } } };
}

/** @throws Problem `not-found` */
export async function findEndpoint(
  db: Pick<Prisma.TransactionClient, 'webhookEndpoint'>,
  caller: Caller,
  id: string,
): Promise<EndpointRow> {
  const row = await db.webhookEndpoint.findFirst({
    where: { id, accountId: caller.accountId, ...visibleTo(caller) },
    include: WITH_INSTANCES,
  });
  if (!row) throw new Problem('not-found');
  return row;
}

/** Whether the caller may be shown this destination, as an answer kept for a repeat has it. */
export function mayReplayEndpoint({ instances }: Caller, body: unknown): boolean {
  if (instances === null) return true;
  const ids = (body as { instance_ids: string[] }).instance_ids;
  return ids.length > 0 && ids.every((id) => instances.has(fromPublicId('instance', id) ?? ''));
}

/**
 * The lock of the account's row makes the limit hold under parallel requests.
 * @param request `resumed`: an earlier request may have made it; its answer was never given, the secret is still to tell
 * @throws Problem `invalid-webhook-url`, `validation-error`, `webhook-limit-reached`
 */
export async function createEndpoint(
  { db, sealer, config }: Services,
  caller: Caller,
  request: { id: string; resumed: boolean; body: WebhookEndpointCreate },
): Promise<{ row: EndpointRow; secret: string }> {
  const { id, resumed, body } = request;
  checkUrl(body.url, config);
  return db.$transaction(async (tx) => {
    await lockAccountByName(tx, caller.accountName);
    const made = resumed && (await findMade(tx, caller, id));
    if (made) {
      const sealed = made.secrets[0]!.secretSealed;
      return { row: made, secret: openWebhookSecret(sealer, caller.accountId, sealed) };
    }
    const instanceIds = await judgeInstances(tx, caller, body.instance_ids);
    const count = await tx.webhookEndpoint.count({ where: { accountId: caller.accountId } });
    if (count >= MAX_ENDPOINTS) throw new Problem('webhook-limit-reached');
    const secret = generateWebhookSecret();
    const row = await tx.webhookEndpoint.create({
      data: {
        id,
        accountId: caller.accountId,
        url: body.url,
        description: body.description,
        eventTypes: [...new Set(body.event_types)],
        instances: { create: instanceIds.map((instanceId) => ({ instanceId })) },
        secrets: { create: { id, secretSealed: bytes(sealWebhookSecret(sealer, caller.accountId, secret)) } },
      },
      include: WITH_INSTANCES,
    });
    await audit(tx, byKey(caller, 'webhook.create', id));
    return { row, secret };
  });
}

const bytes = (buffer: Buffer): Uint8Array<ArrayBuffer> => new Uint8Array(buffer);

function findMade(tx: Prisma.TransactionClient, caller: Caller, id: string) {
  return tx.webhookEndpoint.findFirst({
    where: { id, accountId: caller.accountId },
    include: { ...WITH_INSTANCES, secrets: true },
  });
}

/** @throws Problem `not-found`, `invalid-webhook-url`, `validation-error` */
export async function updateEndpoint(
  { db, config }: Services,
  caller: Caller,
  id: string,
  body: WebhookEndpointUpdate,
): Promise<EndpointRow> {
  if (typeof body.url === 'string') checkUrl(body.url, config);
  return db.$transaction(async (tx) => {
    await lockAccountByName(tx, caller.accountName);
    await findEndpoint(tx, caller, id);
    const instanceIds = body.instance_ids && (await judgeInstances(tx, caller, body.instance_ids, id));
    await audit(tx, byKey(caller, 'webhook.update', id, changeOf(body)));
    return tx.webhookEndpoint.update({
      where: { id },
      data: {
        ...changedFields(body),
        ...(instanceIds && {
          instances: { deleteMany: {}, create: instanceIds.map((instanceId) => ({ instanceId })) },
        }),
      },
      include: WITH_INSTANCES,
    });
  });
}

/** What the account's log says of a change: not the URL, in which there may be a password. */
function changeOf(body: WebhookEndpointUpdate): Prisma.InputJsonObject {
  const given = Object.entries(body).filter(([, value]) => value !== null && value !== undefined);
  const fields = given.map(([field]) => field);
  return { fields, ...(typeof body.enabled === 'boolean' && { enabled: body.enabled }) };
}

/** Null means unchanged. Enabling forgives: the five days that disable a destination begin anew. */
function changedFields(body: WebhookEndpointUpdate): Prisma.WebhookEndpointUpdateInput {
  const { url, description, event_types: eventTypes, enabled } = body;
  return {
    ...(typeof url === 'string' && { url }),
    ...(typeof description === 'string' && { description }),
    ...(eventTypes && { eventTypes: [...new Set(eventTypes)] }),
    ...(typeof enabled === 'boolean' && { enabled }),
    ...(enabled === true && { disabledReason: null, failingSince: null }),
  };
}

/** What waits for it is removed by the worker, in batches: there may be a million. */
export async function deleteEndpoint(db: Database, caller: Caller, id: string): Promise<void> {
  await db.$transaction(async (tx) => {
    await findEndpoint(tx, caller, id);
    await tx.webhookEndpoint.delete({ where: { id } });
    await audit(tx, byKey(caller, 'webhook.delete', id));
  });
}

function checkUrl(
  url: string,
  config: Pick<Services['config'], 'loopbackWebhooks' | 'forbiddenRanges'>,
): void {
  const rules = { loopback: config.loopbackWebhooks, forbiddenRanges: config.forbiddenRanges };
  if (!checkWebhookUrl(url, rules).ok) throw new Problem('invalid-webhook-url');
}

/** The instances (UUIDs) that the ids name; of a restricted key, none named means its own. */
async function judgeInstances(
  tx: Prisma.TransactionClient,
  caller: Caller,
  ids: readonly string[],
  endpointId?: string,
): Promise<string[]> {
  const { accountId, instances } = caller;
  if (ids.length === 0 && instances !== null) {
    // Without any the destination would be one for all.
    if (instances.size === 0) throw new Problem('forbidden');
    return [...instances];
  }
  const given = ids.map((id) => fromPublicId('instance', id));
  const wanted = [...new Set(given.filter((id): id is string => id !== null))];
  const rows = await tx.instance.findMany({
    // A destination keeps what it has: it may be written as it was read, deleted instances included.
    where: {
      id: { in: wanted },
      accountId,
      OR: [
        { deletedAt: null },
        ...(endpointId === undefined ? [] : [{ endpoints: { some: { endpointId } } }]),
      ],
    },
    select: { id: true },
  });
  const known = new Set(rows.map(({ id }) => id).filter((id) => instances === null || instances.has(id)));
  const errors = given.flatMap((id, index): FieldError[] =>
    id !== null && known.has(id)
      ? []
      : [{ path: `instance_ids.${index}`, code: 'custom', message: 'there is no such instance' }],
  );
  if (errors.length > 0) throw new Problem('validation-error', { errors });
  return [...known];
}
