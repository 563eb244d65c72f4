import { setImmediate as turn } from 'node:timers/promises';
import { openDatabase } from '@gwk/api/database/database';
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.js';

let place: TestDatabase;
beforeAll(async () => {
  place = await createTestDatabase();
});
afterAll(() => place.drop());

/** Blocks the event loop, like a process without CPU time. */
function blockProcess(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('a transaction starts although the process is blocked while it connects', async () => {
  const database = openDatabase({ url: place.url, poolSize: 1, program: 'busy' });
  try {
    const done = database.$transaction((tx) => tx.$queryRaw`SELECT 1 AS one`);
    await turn();
    blockProcess(2_200);
    expect(await done).toEqual([{ one: 1 }]);
  } finally {
    await database.$disconnect();
  }
});
