import { createTestDatabase, query, type TestDatabase } from '@gwk/test/support/servers/database';
import { readFormerFunctions } from '@gwk/test/support/servers/former-functions';

const MAX_ARGUMENTS = 8;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function signatures(): Promise<string[]> {
  const rows = await query<{ signature: string }>(
    database.url,
    `SELECT concat_ws(' ', oid::regprocedure, pg_get_function_arguments(oid), pg_get_function_result(oid)) AS signature
     FROM pg_proc WHERE proname LIKE 'gwk\\_%' ORDER BY 1`,
  );
  return rows.map(({ signature }) => signature);
}

const former = readFormerFunctions();

// A failure means that a signature was changed: the API of the former release would fail during an upgrade. Give the new
// function another name, such as gwk_fence_v2 (CONTRIBUTING.md).
(former === null ? test.skip : test)(
  'every function of the former release exists with the same arguments and result (a release exists)',
  async () => {
    const before = await signatures();
    // Fails if a result differs. Other arguments create another function.
    await query(database.url, former!);
    expect(await signatures()).toEqual(before);
  },
);

test(`no function has more than ${MAX_ARGUMENTS} arguments`, async () => {
  const wide = await query<{ proname: string }>(
    database.url,
    `SELECT proname FROM pg_proc WHERE proname LIKE 'gwk\\_%' AND pronargs > ${MAX_ARGUMENTS}`,
  );
  expect(wide).toEqual([]);
});
