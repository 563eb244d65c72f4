import { fromPublicId } from '@gwk/core/ids/ids';
import type { LocalText } from '@gwk/core/language';
import { Problem, type FieldError } from '@gwk/core/problems/problems';
import {
  MAX_ENDPOINTS,
  type SecretRotationOut,
  type WebhookEndpointCreate,
  type WebhookEndpointUpdate,
} from '../resources/webhook.js';
import { generateWebhookSecret } from './signature.js';
import { audit, byCaller } from '../accounts/audit-log.js';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { mayPair, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { lockAccountByName } from '../instances/projection.js';
import { checkWebhookUrl, removeTrailingDot, type UrlFinding } from '../platform/address-guard/guard.js';
import { openWebhookSecret, sealHeaders, sealWebhookSecret } from './secrets.js';
import type { EndpointRow } from './view.js';

/** Time for which deliveries also have a signature of the previous secret. */
const OVERLAP_HOURS = 24;
/** Signatures of one call. More rotations within a day end the oldest secret, because a header has a limited size. */
export const MAX_SECRETS = 5;

const WITH_INSTANCES = { instances: { select: { instanceId: true } } } as const;

export function listEndpoints(db: Database, caller: Caller): Promise<EndpointRow[]> {
  return db.webhookEndpoint.findMany({
    where: { accountId: caller.accountId, ...visibleTo(caller) },
    include: WITH_INSTANCES,
    orderBy: { id: 'desc' },
  });
}

/**
 * A restricted key sees an endpoint if the endpoint names instances and all of them are the key's own. It does not see
 * an endpoint for all instances.
 */
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

/** Decides whether the caller may see the endpoint of a stored answer. */
export function canReplayEndpoint({ instances }: Caller, body: unknown): boolean {
  if (instances === null) return true;
  const ids = (body as { instance_ids: string[] }).instance_ids;
  return ids.length > 0 && ids.every((id) => instances.has(fromPublicId('instance', id) ?? ''));
}

/**
 * Creates an endpoint. Locks the account's row so that parallel requests cannot exceed the limit.
 * @param request `resumed`: an interrupted request with the same key may have created it, so the answer has that secret
 * @throws Problem `invalid-webhook-url`, `validation-error`, `webhook-limit-reached`
 */
export async function createEndpoint(
  { db, sealer, config }: Services,
  caller: Caller,
  request: { id: string; resumed: boolean; body: WebhookEndpointCreate },
): Promise<{ row: EndpointRow; secret: string }> {
  const { id, resumed } = request;
  const body = { ...request.body, url: removeTrailingDot(request.body.url) };
  checkUrl(body.url, config);
  return db.$transaction(async (tx) => {
    await lockAccountByName(tx, caller.accountName);
    const where = { id, accountId: caller.accountId };
    const include = { ...WITH_INSTANCES, secrets: true };
    const existing = resumed && (await tx.webhookEndpoint.findFirst({ where, include }));
    if (existing) {
      const sealed = existing.secrets[0]!.secretSealed;
      return { row: existing, secret: openWebhookSecret(sealer, caller.accountId, sealed) };
    }
    const instanceIds = await resolveInstances(tx, caller, body.instance_ids);
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
        codesGrantedBy: grantCodes(caller),
        ...headerColumns(sealer, caller.accountId, body.headers),
        instances: { create: instanceIds.map((instanceId) => ({ instanceId })) },
        secrets: { create: { id, secretSealed: sealWebhookSecret(sealer, caller.accountId, secret) } },
      },
      include: WITH_INSTANCES,
    });
    await audit(tx, byCaller(caller, 'webhook.create', id));
    return { row, secret };
  });
}

/** @throws Problem `not-found`, `invalid-webhook-url`, `validation-error` */
export async function updateEndpoint(
  { db, config, sealer }: Services,
  caller: Caller,
  id: string,
  given: WebhookEndpointUpdate,
): Promise<EndpointRow> {
  const body = { ...given, ...(typeof given.url === 'string' && { url: removeTrailingDot(given.url) }) };
  if (typeof body.url === 'string') checkUrl(body.url, config);
  return db.$transaction(async (tx) => {
    await lockAccountByName(tx, caller.accountName);
    const former = await findEndpoint(tx, caller, id);
    checkHeaders(former, body);
    const instanceIds = body.instance_ids && (await resolveInstances(tx, caller, body.instance_ids, id));
    await audit(tx, byCaller(caller, 'webhook.update', id, describeUpdate(body)));
    return tx.webhookEndpoint.update({
      where: { id },
      data: {
        ...changedFields(body),
        codesGrantedBy: grantCodes(caller),
        ...(body.headers && headerColumns(sealer, caller.accountId, body.headers)),
        ...(instanceIds && {
          instances: { deleteMany: {}, create: instanceIds.map((instanceId) => ({ instanceId })) },
        }),
      },
      include: WITH_INSTANCES,
    });
  });
}

/** The worker checks at each delivery of a pairing code that this key or person still may pair the instance. */
const grantCodes = (caller: Caller): string | null =>
  !mayPair(caller)
    ? null
    : caller.credential.kind === 'key'
      ? caller.credential.id
      : caller.credential.userId;

function headerColumns(sealer: Sealer, accountId: string, headers: Record<string, string>) {
  const lowerCased = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return {
    headerNames: Object.keys(lowerCased).sort(),
    headersSealed: sealHeaders(sealer, accountId, lowerCased),
  };
}

/**
 * Another origin must not receive headers that were meant for the former one: their values may be credentials, and the
 * caller may not know them.
 * @throws Problem `validation-error`
 */
function checkHeaders({ url, headerNames }: EndpointRow, body: WebhookEndpointUpdate): void {
  if (headerNames.length === 0 || body.headers || typeof body.url !== 'string') return;
  if (new URL(body.url).origin === new URL(url).origin) return;
  const message = 'required with a URL of another origin, because the endpoint has custom headers';
  throw new Problem('validation-error', { errors: [{ path: 'headers', code: 'custom', message }] });
}

/** Detail of the audit entry. Leaves out the URL, which may contain a password. */
function describeUpdate(body: WebhookEndpointUpdate): Prisma.InputJsonObject {
  const given = Object.entries(body).filter(([, value]) => value !== null && value !== undefined);
  const fields = given.map(([field]) => field);
  return { fields, ...(typeof body.enabled === 'boolean' && { enabled: body.enabled }) };
}

/** Null means unchanged. Enabling restarts the 5 days after which a failing endpoint is disabled. */
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

/** Deletes the endpoint. The worker fails its queued deliveries in batches, because there may be a million. */
export async function deleteEndpoint(db: Database, caller: Caller, id: string): Promise<void> {
  await db.$transaction(async (tx) => {
    await findEndpoint(tx, caller, id);
    await tx.webhookEndpoint.delete({ where: { id } });
    await audit(tx, byCaller(caller, 'webhook.delete', id));
  });
}

function checkUrl(
  url: string,
  config: Pick<Services['config'], 'loopbackWebhooks' | 'forbiddenRanges'>,
): void {
  const rules = { loopback: config.loopbackWebhooks, forbiddenRanges: config.forbiddenRanges };
  const check = checkWebhookUrl(url, rules);
  if (check.ok) return;
  const { detail, message } = URL_RULES[check.finding];
  throw new Problem('invalid-webhook-url', {
    detail,
    errors: [{ path: 'url', code: check.finding, message }],
  });
}

const URL_RULES: Record<UrlFinding, { detail: LocalText; message: string }> = {
  'not-a-url': {
    detail: { pt: 'A URL do webhook não é uma URL válida.', en: 'The webhook URL is not a valid URL.' },
    message: 'must be a valid URL without spaces, backslashes or control characters',
  },
  'not-https': {
    detail: {
      pt: 'A URL do webhook deve começar com https://.',
      en: 'The webhook URL must begin with https://.',
    },
    message: 'must begin with https://',
  },
  'user-info': {
    detail: {
      pt: 'A URL do webhook não pode conter usuário nem senha. Use `headers` para credenciais.',
      en: 'The webhook URL must not contain a user or password. Use `headers` for credentials.',
    },
    message: 'must not contain a user or password; use headers for credentials',
  },
  'bad-port': {
    detail: { pt: 'A porta da URL do webhook é inválida.', en: 'The port of the webhook URL is invalid.' },
    message: 'must have a port from 1 to 65535',
  },
  'name-not-public': {
    detail: {
      pt: 'O nome na URL do webhook não é um nome público.',
      en: 'The name in the webhook URL is not a public name.',
    },
    message: 'must name a public host, not a single label or a special-use domain',
  },
  'address-not-public': {
    detail: {
      pt: 'O endereço na URL do webhook não é público.',
      en: 'The address in the webhook URL is not public.',
    },
    message: 'must be a public address, not a private, special or forbidden one',
  },
};

/** Returns the UUIDs of the named instances. If a restricted key names none, they are all instances of the key. */
async function resolveInstances(
  tx: Prisma.TransactionClient,
  caller: Caller,
  ids: readonly string[],
  endpointId?: string,
): Promise<string[]> {
  const { accountId, instances } = caller;
  if (ids.length === 0 && instances !== null) {
    // An endpoint without instances is an endpoint for all of them.
    if (instances.size === 0) throw new Problem('forbidden');
    return [...instances];
  }
  const given = ids.map((id) => fromPublicId('instance', id));
  const wanted = [...new Set(given.filter((id): id is string => id !== null))];
  const rows = await tx.instance.findMany({
    // An update may repeat the current list of the endpoint, including deleted instances.
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

/**
 * Creates a signing secret for the next attempts. The row lock of the endpoint serialises rotations.
 * @param request `resumed`: an interrupted request with the same key may have created it, so the answer has that secret
 * @throws Problem `not-found`
 */
export async function rotateSecret(
  { db, sealer }: Pick<Services, 'db' | 'sealer'>,
  caller: Caller,
  request: { endpointId: string; secretId: string; resumed: boolean },
): Promise<SecretRotationOut> {
  const { endpointId, secretId, resumed } = request;
  const { accountId } = caller;
  return db.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT id FROM webhook_endpoints WHERE id = ${endpointId}::uuid FOR NO KEY UPDATE`;
    await findEndpoint(tx, caller, endpointId);
    const existing = resumed ? await tx.webhookSecret.findUnique({ where: { id: secretId } }) : null;
    if (existing) {
      const secret = openWebhookSecret(sealer, accountId, existing.secretSealed);
      return { secret, previous_expires_at: await lastExpiry(tx, endpointId) };
    }
    const secret = generateWebhookSecret();
    await tx.$executeRaw`
      UPDATE webhook_secrets SET expires_at = now() + make_interval(hours => ${OVERLAP_HOURS}::integer)
      WHERE endpoint_id = ${endpointId}::uuid AND expires_at IS NULL`;
    const secretSealed = sealWebhookSecret(sealer, accountId, secret);
    await tx.webhookSecret.create({ data: { id: secretId, endpointId, secretSealed } });
    await deleteOldest(tx, endpointId);
    await audit(tx, byCaller(caller, 'webhook.rotate-secret', endpointId));
    return { secret, previous_expires_at: await lastExpiry(tx, endpointId) };
  });
}

async function lastExpiry(tx: Prisma.TransactionClient, endpointId: string): Promise<string> {
  const { _max } = await tx.webhookSecret.aggregate({ where: { endpointId }, _max: { expiresAt: true } });
  return _max.expiresAt!.toISOString();
}

async function deleteOldest(tx: Prisma.TransactionClient, endpointId: string): Promise<void> {
  await tx.$executeRaw`
    DELETE FROM webhook_secrets WHERE id IN (
      SELECT id FROM webhook_secrets WHERE endpoint_id = ${endpointId}::uuid
      ORDER BY created_at DESC, id DESC OFFSET ${MAX_SECRETS}::integer)`;
}
