import { GatewayClient } from '../support/gateway/client.js';
import { newCustomer, newKey, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { testPhone } from '../support/gateway/traffic.js';
import { report } from '../support/gateway/check-traffic.js';
import { pause, realTime, until } from '../support/wait.js';

/** Every replica applies a change within this time (docs/interface.md). */
const APPLIED_WITHIN_MS = 2_000;

/** Result of one call to a replica, which depends on the changed data. */
type Probe = () => Promise<string>;

/**
 * Calls a replica continuously, like clients that do not know of the change, so that its caches stay warm. Calls
 * that start after the change and still see the former data show the delay.
 */
class Watch {
  readonly #seen: { begun: number; answer: string }[] = [];
  readonly #running: Promise<void>;
  #stopped = false;

  constructor(probe: Probe) {
    this.#running = this.#run(probe);
  }

  async #run(probe: Probe): Promise<void> {
    while (!this.#stopped) {
      const begun = Date.now();
      this.#seen.push({ begun, answer: await probe() });
      await pause(10);
    }
  }

  latest(): string | undefined {
    return this.#seen.at(-1)?.answer;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Milliseconds from the change to the start of the last call that saw the former data. */
  async delayUntil(since: number, after: string): Promise<number> {
    await until(() => this.latest() === after, {
      what: `the replica answers ${after}`,
      timeoutMs: realTime(10_000),
    });
    // The former data must not come back.
    await pause(500);
    const old = this.#seen.filter(({ begun, answer }) => begun >= since && answer !== after);
    return Math.max(0, ...old.map(({ begun }) => begun - since));
  }
}

describe('a second replica applies within 2 s', () => {
  let gateway: Gateway;
  let customer: Customer;
  let instance: string;
  const figures: Record<string, string> = {};
  let nextPhone = 1;

  beforeAll(async () => {
    gateway = await Gateway.start({ apis: 2 });
    customer = await newCustomer(gateway, 'replicas');
    instance = (await customer.client.connectedInstance('one')).id;
  });
  afterAll(async () => {
    report('delay on a second replica', figures);
    customer?.close();
    await gateway?.stop();
  });

  const send = async (client: GatewayClient): Promise<string> => {
    const { status, body } = await client.sendText(instance, testPhone(nextPhone++), 'hello');
    return status === 202 ? 'accepted' : (body as unknown as { type: string }).type.split('/').at(-1)!;
  };

  /** @param change returns the time of the change */
  async function expectApplied(name: string, probe: Probe, change: () => Promise<number>, after: string) {
    const watch = new Watch(probe);
    try {
      await until(() => ![undefined, after].includes(watch.latest()), { what: 'the former data is seen' });
      const ms = await watch.delayUntil(await change(), after);
      figures[name] = `${ms} ms`;
      expect(ms).toBeLessThan(realTime(APPLIED_WITHIN_MS));
    } finally {
      await watch.stop();
    }
  }

  const other = () => customer.clients[1]!;
  const changedAt = (row: Record<string, string | null>, field: string) => Date.parse(row[field]!);

  test('a revoked key', async () => {
    const key = await newKey(gateway, 'replicas', 'all');
    const client = new GatewayClient(gateway.urls[1]!, key.api_key);
    const probe = async () => String((await client.call('GET', '/v1/instances')).status);
    const revoke = async () => changedAt(await gateway.gwk('key', 'revoke', key.id), 'revoked_at');
    await expectApplied('a revoked key', probe, revoke, '401');
    client.close();
  });

  test('a suspended account and a resumed one', async () => {
    const suspend = async () =>
      changedAt(await gateway.gwk('account', 'suspend', 'replicas'), 'suspended_at');
    await expectApplied('a suspended account', () => send(other()), suspend, 'account-suspended');
    const resume = async () => {
      await gateway.gwk('account', 'resume', 'replicas');
      return Date.now();
    };
    await expectApplied('a resumed account', () => send(other()), resume, 'accepted');
  });

  /** Active hours that have just ended. */
  function closedHours(): Record<string, string> {
    const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16);
    return { start: at(-180), end: at(-60), timezone: 'UTC', outside: 'reject' };
  }

  test("an instance's policy, which the replica that changed it applies at once", async () => {
    const policy = { active_hours: closedHours() };
    const change = async (body: unknown) => {
      await customer.client.expect(200, 'PATCH', `/v1/instances/${instance}`, { body });
      return Date.now();
    };
    const close = async () => {
      const at = await change({ policy });
      expect(await send(customer.client)).toBe('policy-outside-hours');
      return at;
    };
    await expectApplied("an instance's policy", () => send(other()), close, 'policy-outside-hours');
    const open = async () => {
      const at = await change({ policy: null });
      expect(await send(customer.client)).toBe('accepted');
      return at;
    };
    await expectApplied("an instance's policy, removed", () => send(other()), open, 'accepted');
  });

  test("an account's policy", async () => {
    const set = async (policy: unknown) => {
      await gateway.gwk('policy', 'set', '--account', 'replicas', '--json', JSON.stringify(policy));
      return Date.now();
    };
    const generous = {
      messages_per_minute: 6000,
      new_contacts_per_day: 100_000,
      mass_block: { max_contacts: 10_000, window_minutes: 1 },
    };
    const close = () => set({ ...generous, active_hours: closedHours() });
    await expectApplied("an account's policy", () => send(other()), close, 'policy-outside-hours');
    await expectApplied("an account's policy, removed", () => send(other()), () => set(generous), 'accepted'); // prettier-ignore
  });

  test('a deleted instance', async () => {
    const remove = async () => {
      await customer.client.expect(204, 'DELETE', `/v1/instances/${instance}`);
      expect(await send(customer.client)).toBe('not-found');
      return Date.now();
    };
    await expectApplied('a deleted instance', () => send(other()), remove, 'not-found');
  });
});
