import type { SandboxInboundOut } from '@gwk/core/resources/sandbox';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { makeWorld, type World } from '@gwk/test/support/api/world';

/** Answers that the description promises and that no other test has a reason to ask for. */
let api: TestApi;
let world: World;

beforeAll(async () => {
  api = await openApi();
  world = await makeWorld(api, await api.account());
});
afterAll(() => api.stop());

const codeOf = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const path = () => `/v1/instances/${world.ids['instance_id']!}`;

test('a change of an instance while its resource cannot be written: engine-unavailable', async () => {
  api.cluster.mood = 'fails';
  const answer = await world.client.call('PATCH', path(), { body: { interactive_mode: 'text' } });
  api.cluster.mood = 'well';
  expect([answer.status, codeOf(answer)]).toEqual([503, 'engine-unavailable']);
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
});

test('presence in a chat that can be none: invalid-phone', async () => {
  const answer = await world.client.call('POST', `${path()}/chats/12345/presence`, {
    body: { state: 'typing' },
  });
  expect(codeOf(answer)).toBe('invalid-phone');
});

test('deleting for everyone what a contact wrote: not-editable', async () => {
  const { body } = await world.client.call<SandboxInboundOut>('POST', `${path()}/sandbox/inbound`, {
    body: { from: '5511987654321', text: 'oi' },
  });
  const answer = await world.client.call('DELETE', `/v1/messages/${body.message_id}`);
  expect(codeOf(answer)).toBe('not-editable');
});
