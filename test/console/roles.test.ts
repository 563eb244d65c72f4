import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROLES } from '@gwk/api/roles';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { WebhookEndpointOut } from '@gwk/api/resources/webhook';
import { ROOT } from '../support/program.js';
import { until } from '../support/wait.js';
import { describeWithChromium } from './chromium.js';
import { PageWalk } from './page-walk.js';
import { ConsoleStage } from './stage.js';

/** Paths of the pages in a part of the router of the console. */
function findPages(part: ':account' | 'platform'): string[] {
  const router = readFileSync(join(ROOT, 'console/src/app/router.tsx'), 'utf8');
  const routes = router.split(`path: '${part}'`)[1]!.split(`path: '*'`)[0]!;
  const paths = [...routes.matchAll(/page\('([^']+)'/gi)].map(([, path]) => path!);
  expect(paths).toContain('overview');
  return paths;
}

/** Each role with all numbers, and the most powerful role that can be restricted to some. */
const MEMBERS = [...ROLES.map((role) => [role, 'all'] as const), ['admin', 'some'] as const];
/** Tabs that not all roles have. */
const TABS = ['try', 'settings'];

describeWithChromium('what the console offers to a role', () => {
  let stage: ConsoleStage;
  let sandbox: string;
  /** Values of the parameters of paths. */
  let ids: Record<string, string>;

  beforeAll(async () => {
    stage = await ConsoleStage.open('roles');
    const { client } = stage.customer;
    ({ id: sandbox } = await client.connectedInstance('Role shop'));
    const web = await client.expect<InstanceOut>(201, 'POST', '/v1/instances', {
      body: { name: 'Other shop', kind: 'web' },
    });
    const endpoint = await client.expect<WebhookEndpointOut>(201, 'POST', '/v1/webhook-endpoints', {
      body: { url: 'https://example.com/hook', instance_ids: [sandbox] },
    });
    await client.expect(201, 'POST', '/v1/opt-outs', { body: { phone: '5511900000000' } });
    const message = await client.acceptedText(sandbox, '5511987654321', 'Bom dia');
    const delivery = await until(async () => (await client.deliveries(endpoint.id))[0], {
      what: 'a delivery',
    });
    const [event] = await client.events({ instance_id: sandbox });
    const { conversation_id: conversation } = await client.message(message.id);
    ids = {
      number: sandbox,
      web: web.id,
      message: message.id,
      conversation: conversation!,
      endpoint: endpoint.id,
      delivery: delivery.id,
      event: event!.id,
      id: stage.customer.account.id,
    };
  });
  afterAll(() => stage?.close());

  const fill = (path: string) =>
    path.replaceAll(/:(\w+)/g, (_, name: string) => {
      const id = ids[name];
      if (id === undefined) throw new Error(`${path} needs an example of ${name}`);
      return id;
    });
  /** Addresses that people may share, whatever the role of the reader. */
  const listAddresses = () =>
    [
      ...findPages(':account').map(fill),
      ...TABS.map((tab) => `numbers/${sandbox}?tab=${tab}`),
      `conversations?conversation=${ids['conversation']}`,
      `numbers/${ids['web']}`,
      `numbers/${ids['web']}/pairing`,
    ].map((path) => stage.at(path));

  /** Signs in. @returns a walk of the pages */
  const startWalk = async (email: string) =>
    PageWalk.start(await stage.signIn({ reducedMotion: 'reduce' }, email));

  /** Opens the addresses and uses all that the pages offer. @returns requests that the API refused */
  async function findRefusals(walk: PageWalk, addresses: readonly string[]): Promise<string[]> {
    await walk.load(addresses[0]!);
    const refused: string[] = [];
    for (const address of addresses) {
      const answers = await walk.visit(address);
      refused.push(
        ...answers
          .filter(({ status }) => status === 403)
          .map(({ method, path }) => `${address}: ${method} ${path}`),
      );
    }
    return refused;
  }

  describe('members', () => {
    const EMAIL = 'member@example.com';
    let walk: PageWalk;
    beforeAll(async () => {
      await stage.createUser(EMAIL, 'viewer');
      // The team has a member below each role that changes members.
      await stage.createUser('other@example.com', 'viewer');
      walk = await startWalk(EMAIL);
    });
    afterAll(() => walk?.close());

    test.each(MEMBERS)(
      '%s with %s numbers: no page asks the API for what it refuses',
      async (role, numbers) => {
        await stage.changeMember(EMAIL, { role, instance_ids: numbers === 'all' ? null : [sandbox] });
        expect(await findRefusals(walk, listAddresses())).toEqual([]);
      },
    );
  });

  test('administrators of the platform: no page asks the API for what it refuses', async () => {
    await stage.createPlatformAdmin('paula@example.com');
    const walk = await startWalk('paula@example.com');
    const platform = findPages('platform').map((path) => stage.atPlatform(fill(path)));
    expect(await findRefusals(walk, [...platform, ...listAddresses()])).toEqual([]);
    await walk.close();
  });
});
