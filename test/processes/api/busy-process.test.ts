import { setImmediate as turn } from 'node:timers/promises';
import { openDatabase } from '@gwk/api/database/database';
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.js';

let place: TestDatabase;
beforeAll(async () => {
  place = await createTestDatabase();
});
afterAll(() => place.drop());

/** Nothing of this process runs meanwhile, as where it has no processor. */
function standStill(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('a transaction begins although the process stands still while it asks for its connection', async () => {
  const database = openDatabase({ url: place.url, poolSize: 1, program: 'still' });
  try {
    const done = database.$transaction((tx) => tx.$queryRaw`SELECT 1 AS one`);
    await turn();
    standStill(2_200);
    expect(await done).toEqual([{ one: 1 }]);
  } finally {
    await database.$disconnect();
  }
});
