import { fromPublicId } from '@gwk/core/ids/ids';
import type { EventOut } from '../resources/event.js';
import type { Page } from '@gwk/core/resources/common';
import type { InstanceOut } from '../resources/instance.js';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

let api: TestApi;
let client: ApiClient;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  client = await api.clientOf(await api.account());
});

const create = async (kind = 'web'): Promise<string> =>
  (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'loja', kind } })).body.id;
const remove = async (id: string): Promise<number> =>
  (await client.call('DELETE', `/v1/instances/${id}`)).status;
const readReasons = async (id: string) => {
  const query = { instance_id: id, type: 'instance.logged_out' };
  const { body } = await client.call<Page<EventOut>>('GET', '/v1/events', { query });
  return body.data.map(({ data }) => data['reason']);
};
const unlinkId = async (id: string) =>
  (await api.db.instance.findUniqueOrThrow({ where: { id: fromPublicId('instance', id)! } })).unlinkId;

describe('DELETE emits an event if the device remains linked', () => {
  test('not if the engine has unlinked the device', async () => {
    const id = await create();
    const engine = await api.engine(id);
    await engine.connect();
    engine.handlers.logout = () => ({ unlinked: true });
    expect(await remove(id)).toBe(204);
    expect(await readReasons(id)).toEqual([]);
  });

  test('not if the engine has found the device unlinked, and records that after the deletion', async () => {
    const id = await create();
    const engine = await api.engine(id);
    await engine.connect();
    engine.handlers.logout = async () => void (await engine.call('unlinked', { id: null }));
    expect(await remove(id)).toBe(204);
    expect(await readReasons(id)).toEqual([]);
    expect(await unlinkId(id)).toBeNull();
  });

  test('if the network has not unlinked it', async () => {
    const id = await create();
    const engine = await api.engine(id);
    await engine.connect();
    engine.handlers.logout = () => ({ unlinked: false });
    expect(await remove(id)).toBe(204);
    expect(await readReasons(id)).toEqual(['device_still_linked']);
  });

  test('if there is no engine', async () => {
    const id = await create();
    const engine = await api.engine(id);
    await engine.connect();
    await engine.stop();
    expect(await remove(id)).toBe(204);
    expect(await readReasons(id)).toEqual(['device_still_linked']);
  });

  test('if it is logged out but not unlinked yet', async () => {
    const id = await create();
    const engine = await api.engine(id);
    await engine.connect();
    await engine.stop();
    await client.call('POST', `/v1/instances/${id}/logout`);
    expect(await remove(id)).toBe(204);
    expect(await readReasons(id)).toEqual(['device_still_linked']);
  });

  test('not for an unpaired instance or a sandbox, which have no linked device', async () => {
    for (const kind of ['web', 'sandbox']) {
      const id = await create(kind);
      expect(await remove(id)).toBe(204);
      expect(await readReasons(id)).toEqual([]);
    }
  });
});
