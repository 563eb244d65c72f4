import { fromPublicId } from '@gwk/core/ids/ids';
import pg from 'pg';
import { openInstanceStage, type InstanceStage } from '../../support/instance/stage.js';
import { until } from '../../support/wait.js';

/** Signal ratchets of an instance after the restore of a backup, and `gwk after-restore` (docs/operate.md). */
let stage: InstanceStage;
let client: pg.Client;
beforeAll(async () => {
  stage = await openInstanceStage('restored', { contacts: 1 });
  client = new pg.Client({ connectionString: stage.gateway.settings.databaseUrl });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await stage?.close();
});

const contact = () => stage.contacts[0]!;
const shown = async (text: string) => (await contact().inbox({ text })).length > 0;
const sends = async (text: string) => {
  await stage.customer.client.acceptedText(stage.id, contact().number, text);
  await until(() => shown(text), { what: `"${text}" is shown` });
};
const receives = async (text: string) => {
  await contact().writes(text, { to: stage.phone.number });
  await until(
    async () =>
      (await stage.customer.client.events({ type: 'message.received' })).some(
        ({ data }) => data['text'] === text,
      ),
    { what: `"${text}" is reported` },
  );
};

test('starts restored ratchets again, both ways, and the instance stays linked', async () => {
  const { gateway } = stage;
  await sends('before the backup');
  await receives('an answer');
  await sends('and on');
  const instance = [fromPublicId('instance', stage.id)!];
  await client.query(
    `CREATE TEMP TABLE backup AS SELECT * FROM session_keys WHERE instance_id = '${instance[0]!}'`,
  );
  for (let i = 0; i < 3; i++) await sends(`since the backup ${i}`);
  await receives('since the backup');

  await gateway.operator.stop();
  await until(() => gateway.engines().length === 0, { what: 'no engine runs' });
  await client.query('DELETE FROM session_keys WHERE instance_id = $1', instance);
  await client.query('INSERT INTO session_keys SELECT * FROM backup');
  const done = await gateway.gwk<{ ratchets: number }>('after-restore');
  expect(done.ratchets).toBeGreaterThan(0);
  await gateway.operator.start();
  await stage.untilState('connected');

  await sends('after the restore');
  await receives('after the restore');
  for (let i = 0; i < 3; i++) await sends(`later ${i}`);
});
