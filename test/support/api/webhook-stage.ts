import { TestApi, type TestAccount } from './test-api.js';
import type { Answer, ApiClient } from './client.js';
import { fromPublicId, newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type {
  DeliveryOut,
  RetryFailedOut,
  SecretRotationOut,
  WebhookEndpointOut,
} from '@gwk/api/resources/webhook';
import { Webhook } from 'standardwebhooks';
import { endWithWorker } from '../shared.js';
import { DeliveryWorld, type Post } from './deliveries.js';

const PATH = '/v1/webhook-endpoints';

type Headers = Record<string, string>;

let shared: Promise<WebhookStage> | undefined;

/** API on a delivery world, with webhook calls as one account. */
export class WebhookStage {
  private constructor(
    readonly world: DeliveryWorld,
    readonly api: TestApi,
    readonly account: TestAccount,
    readonly client: ApiClient,
  ) {}

  /** One stage for all test files of a jest worker. Each file resets its world after its tests. */
  static shared(): Promise<WebhookStage> {
    shared ??= WebhookStage.open().then((stage) => {
      endWithWorker(() => stage.api.stop());
      return stage;
    });
    return shared;
  }

  private static async open(): Promise<WebhookStage> {
    const world = await DeliveryWorld.shared();
    const { DATABASE_URL, REDIS_URL, GWK_REDIS_PREFIX, GWK_ENCRYPTION_KEYS } = world.environment;
    const api = await TestApi.start({
      databaseUrl: DATABASE_URL!,
      redisUrl: REDIS_URL!,
      redisPrefix: GWK_REDIS_PREFIX!,
      settings: { GWK_ENCRYPTION_KEYS: GWK_ENCRYPTION_KEYS!, GWK_API_LOOPBACK_WEBHOOKS: 'on' },
    });
    const account = { id: world.accountId, name: 'deliveries' };
    await world.db.account.update({ where: { id: account.id }, data: { requestsPerMinute: 1_000_000 } });
    return new WebhookStage(world, api, account, await api.clientOf(account));
  }

  async create(url: string, fields: Record<string, unknown> = {}): Promise<WebhookEndpointOut> {
    return (await this.client.call<WebhookEndpointOut>('POST', PATH, { body: { url, ...fields } })).body;
  }

  async read(id: string): Promise<WebhookEndpointOut> {
    return (await this.client.call<WebhookEndpointOut>('GET', `${PATH}/${id}`)).body;
  }

  update(id: string, body: unknown): Promise<Answer<WebhookEndpointOut>> {
    return this.client.call('PATCH', `${PATH}/${id}`, { body });
  }

  async remove(id: string): Promise<void> {
    await this.client.call('DELETE', `${PATH}/${id}`);
  }

  rotate(id: string, headers: Headers = {}, who = this.client): Promise<Answer<SecretRotationOut>> {
    return who.call('POST', `${PATH}/${id}/rotate-secret`, { headers });
  }

  sendTest(id: string, headers: Headers = {}, who = this.client): Promise<Answer<DeliveryOut>> {
    return who.call('POST', `${PATH}/${id}/test`, { headers });
  }

  retry(delivery: string, headers: Headers = {}, who = this.client): Promise<Answer<DeliveryOut>> {
    return who.call('POST', `/v1/webhook-deliveries/${delivery}/retry`, { headers });
  }

  retryFailed(
    id: string,
    body: unknown,
    headers: Headers = {},
    who = this.client,
  ): Promise<Answer<RetryFailedOut>> {
    return who.call('POST', `${PATH}/${id}/retry-failed`, { body, headers });
  }

  async deliveries(id: string, query: Record<string, string> = {}, who = this.client) {
    return (await who.call<Page<DeliveryOut>>('GET', `${PATH}/${id}/deliveries`, { query })).body;
  }

  async newInstance(): Promise<{ id: string; uuid: string }> {
    const body = { name: newUuid(), kind: 'web' };
    const { id } = (await this.client.call<{ id: string }>('POST', '/v1/instances', { body })).body;
    return { id, uuid: fromPublicId('instance', id)! };
  }

  /** Returns a client whose key is restricted to one new instance. */
  async restricted(): Promise<ApiClient> {
    return this.api.clientOf(this.account, { instances: [(await this.newInstance()).uuid] });
  }

  /** Simulates processes that died before they stored the responses of idempotent requests. */
  async forgetAnswers(): Promise<void> {
    await this.world.db.idempotencyRecord.updateMany({
      where: { accountId: this.account.id },
      data: { status: null, responseSealed: null, lockedUntil: new Date(Date.now() - 1000) },
    });
  }

  /**
   * Fails every queued delivery of the endpoint.
   * @returns all its deliveries, oldest first
   */
  async allFailed(endpoint: string): Promise<string[]> {
    const endpointId = endpointUuid(endpoint);
    await this.world.db.webhookQueueEntry.deleteMany({ where: { endpointId } });
    await this.world.db.webhookDelivery.updateMany({
      where: { endpointId, status: 'pending' },
      data: { status: 'failed', attempts: 8, nextAttemptAt: null, lastError: 'connection refused' },
    });
    const rows = await this.world.deliveries(endpointId);
    return rows.map(({ id }) => toPublicId('delivery', id));
  }
}

export const endpointUuid = (id: string): string => fromPublicId('endpoint', id)!;

/** Last path segment of a problem's type. */
export const problemCode = ({ body }: { body: unknown }): string | undefined =>
  (body as { type?: string }).type?.split('/').at(-1);

/** Verifies a post with the reference library of Standard Webhooks. */
export function verifies(secret: string, { body, headers }: Pick<Post, 'body' | 'headers'>): boolean {
  try {
    new Webhook(secret).verify(body, headers as Headers);
    return true;
  } catch {
    return false;
  }
}
