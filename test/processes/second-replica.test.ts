import { GatewayClient } from '../support/gateway/client.js';
import { newCustomer, newKey, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { testPhone } from '../support/gateway/traffic.js';
import { report } from '../support/gateway/check-traffic.js';
import { pause, realTime, until } from '../support/wait.js';

/** (design: Limits are data) So long after a change, every replica goes by it. */
const HOLDS_WITHIN_MS = 2_000;

/** What one call of a replica tells of what it goes by. */
type Look = () => Promise<string>;

/**
 * Looks at a replica all the time, as clients do that know of nothing: what it knows stays warm. A look that began
 * after the change and still saw what was before tells how long that was.
 */
class Watch {
  readonly #seen: { begun: number; answer: string }[] = [];
  readonly #running: Promise<void>;
  #stopped = false;

  constructor(look: Look) {
    this.#running = this.#run(look);
  }

  async #run(look: Look): Promise<void> {
    while (!this.#stopped) {
      const begun = Date.now();
      this.#seen.push({ begun, answer: await look() });
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

  /** Milliseconds from the change until the first look that saw nothing old any more began. */
  async lasted(since: number, after: string): Promise<number> {
    await until(() => this.latest() === after, {
      what: `the replica says ${after}`,
      timeoutMs: realTime(10_000),
    });
    // Nothing old comes back.
    await pause(500);
    const old = this.#seen.filter(({ begun, answer }) => begun >= since && answer !== after);
    return Math.max(0, ...old.map(({ begun }) => begun - since));
  }
}

describe('what was changed holds on a second replica within 2 s', () => {
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
    report('until a second replica went by it', figures);
    customer?.close();
    await gateway?.stop();
  });

  const send = async (client: GatewayClient): Promise<string> => {
    const { status, body } = await client.sendText(instance, testPhone(nextPhone++), 'hello');
    return status === 202 ? 'accepted' : (body as unknown as { type: string }).type.split('/').at(-1)!;
  };

  /** @param change returns when it was made */
  async function expectHeld(name: string, look: Look, change: () => Promise<number>, after: string) {
    const watch = new Watch(look);
    try {
      await until(() => ![undefined, after].includes(watch.latest()), { what: 'it is as before' });
      const ms = await watch.lasted(await change(), after);
      figures[name] = `${ms} ms`;
      expect(ms).toBeLessThan(realTime(HOLDS_WITHIN_MS));
    } finally {
      await watch.stop();
    }
  }

  const other = () => customer.clients[1]!;
  const changedAt = (row: Record<string, string | null>, field: string) => Date.parse(row[field]!);

  test('a revoked key', async () => {
    const key = await newKey(gateway, 'replicas', 'all');
    const client = new GatewayClient(gateway.urls[1]!, key.api_key);
    const look = async () => String((await client.call('GET', '/v1/instances')).status);
    const revoke = async () => changedAt(await gateway.gwk('key', 'revoke', key.id), 'revoked_at');
    await expectHeld('a revoked key', look, revoke, '401');
    client.close();
  });

  test('a suspended account, and one that is no longer', async () => {
    const suspend = async () =>
      changedAt(await gateway.gwk('account', 'suspend', 'replicas'), 'suspended_at');
    await expectHeld('a suspended account', () => send(other()), suspend, 'account-suspended');
    const resume = async () => {
      await gateway.gwk('account', 'resume', 'replicas');
      return Date.now();
    };
    await expectHeld('an account that goes on', () => send(other()), resume, 'accepted');
  });

  /** A window that has just closed. */
  function closedHours(): Record<string, string> {
    const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16);
    return { start: at(-180), end: at(-60), timezone: 'UTC', outside: 'reject' };
  }

  test("an instance's policy, through the other replica; on that one at once", async () => {
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
    await expectHeld("an instance's policy", () => send(other()), close, 'policy-outside-hours');
    const open = async () => {
      const at = await change({ policy: null });
      expect(await send(customer.client)).toBe('accepted');
      return at;
    };
    await expectHeld("an instance's policy, taken back", () => send(other()), open, 'accepted');
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
    await expectHeld("an account's policy", () => send(other()), close, 'policy-outside-hours');
    await expectHeld("an account's policy, taken back", () => send(other()), () => set(generous), 'accepted'); // prettier-ignore
  });

  test('a deleted instance', async () => {
    const remove = async () => {
      await customer.client.expect(204, 'DELETE', `/v1/instances/${instance}`);
      expect(await send(customer.client)).toBe('not-found');
      return Date.now();
    };
    await expectHeld('a deleted instance', () => send(other()), remove, 'not-found');
  });
});
