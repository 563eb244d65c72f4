import { newUuid, parseUuidTime } from '@gwk/core/ids/ids';
import {
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { OpenedPartitions, partitionAt } from '@gwk/test/support/api/opened-partitions';

/**
 * The cost of a message must not grow with the days kept: each statement of its functions opens only the
 * partition of its day.
 */
let internalApi: InternalApiWorld;
let engine: TestEngine;
let opened: OpenedPartitions;

beforeAll(async () => {
  internalApi = await sharedInternalApi();
  engine = await (await internalApi.addEngine()).acquire();
  opened = await OpenedPartitions.watch(internalApi.world.database);
});
afterAll(async () => {
  await opened.close();
  await internalApi.close();
});

const listOpened = async (calls: Record<string, [call: string, values: unknown[]]>) => {
  const found: Record<string, string[]> = {};
  for (const [name, [call, values]] of Object.entries(calls)) found[name] = await opened.by(call, values);
  return found;
};
const findPartition = (id: string): string => partitionAt(parseUuidTime(id));

test('claim, build, lookup and outcome of a message open only the partition of its day', async () => {
  const { instanceId, lease } = engine;
  const id = await internalApi.accept({ instance: instanceId, to: '5511900000001' });
  const day = findPartition(id);
  const caller = [[instanceId], [lease.epoch], [lease.holder]];
  const change = {
    place: 1,
    id,
    version: 3,
    status: 'sent',
    played: false,
    queue: 'finish',
  };
  const calls: Record<string, [string, unknown[]]> = {
    claim: [
      'SELECT gwk_claim_messages($1, $2, $3, ARRAY[1], ARRAY[false], $4, ARRAY[10], ARRAY[true])',
      [...caller, [newUuid()]],
    ],
    claimBuilt: [
      `SELECT gwk_claim_built($1, $2, $3, $4, ARRAY['built'::bytea], ARRAY['text_menu'], $5)`,
      [
        ...caller,
        [id],
        JSON.stringify({ menus: [], menu_hours: 1, claims: [{ place: 1, claim_id: newUuid() }] }),
      ],
    ],
    built: [
      `SELECT gwk_store_built($1, $2, $3, $4, ARRAY['built'::bytea], ARRAY['text_menu'], '[]', 1)`,
      [...caller, [id]],
    ],
    facts: ['SELECT gwk_message_facts($1)', [[id]]],
    outcome: [`SELECT gwk_update_messages($1, $2, $3, $4, '[]')`, [...caller, JSON.stringify([change])]],
  };
  expect(await listOpened(calls)).toEqual({
    ...{ claim: [day], claimBuilt: [day], built: [day], facts: [day], outcome: [day] },
  });
  expect(await internalApi.world.database.message.findUnique({ where: { id } })).toMatchObject({
    status: 'sent',
  });
});

test('quote, rescheduling, receive and delete open only the partition of the day, or none', async () => {
  const { instanceId, lease } = engine;
  const { database } = internalApi.world;
  const id = await internalApi.accept({ instance: instanceId, to: '5511900000002' });
  const day = findPartition(id);
  await database.$executeRaw`
    UPDATE outbox SET state = 'scheduled', release_at = now(), seq = NULL, head = false WHERE message_id = ${id}::uuid`;
  const { accountId, conversationId } = await database.message.findUniqueOrThrow({ where: { id } });
  const received = (deletes: string | null) => {
    const message_id = newUuid();
    const now = new Date();
    return JSON.stringify([
      {
        ...{ number: 1, message_id, account_id: accountId, instance_id: instanceId, deletes },
        ...{ conversation_id: conversationId, new_conversation: false, new_contact: false, has_row: false },
        ...{
          wrote: false,
          reads_menus: false,
          typed: false,
          wa_message_id: message_id,
          at: now,
          created_at: now,
        },
      },
    ]);
  };
  const receive = (deletes: string | null): [string, unknown[]] => [
    `SELECT result FROM gwk_receive($1, $2, $3, $4, '[]')`,
    [[instanceId], [lease.epoch], [lease.holder], received(deletes)],
  ];
  const calls: Record<string, [string, unknown[]]> = {
    quote: ['SELECT gwk_quoted_messages($1, $2)', [[id], [newUuid()]]],
    moved: ['SELECT gwk_release_scheduled($1, $2)', [[id], [new Date(Date.now() + 3_600_000)]]],
    received: receive(null),
    deleted: receive(id),
  };
  expect(await listOpened(calls)).toEqual({ quote: [day], moved: [day], received: [], deleted: [day] });
  expect(await database.message.findUnique({ where: { id } })).toMatchObject({
    deletedForAll: true,
    scheduledFor: expect.any(Date) as Date,
  });
});
