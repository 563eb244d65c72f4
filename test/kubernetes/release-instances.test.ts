import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@gwk/api/database/migrate';
import { startPostgres } from '@gwk/local/servers/postgres';
import type { RunningServer } from '@gwk/local/servers/process';
import { shell } from './kubectl.js';
import { OperatorStage } from './operator-stage.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { instancePath } from '../support/kubernetes/test-cluster.js';
import { readPageCommands } from '../support/readme.js';
import { query } from '../support/servers/database.js';
import { describeWithWholePostgres, neededPostgres } from '../support/servers/postgres-programs.js';

/** Types the commands of docs/uninstall.md for Instances whose operator is gone. */
describeWithWholePostgres('Instances without an operator', () => {
  describeOnKubernetes('on Kubernetes', (cluster) => {
    const folder = mkdtempSync(join(tmpdir(), 'gwk-release-'));
    let postgres: RunningServer;
    let stage: OperatorStage;
    beforeAll(async () => {
      postgres = await startPostgres({
        dataDir: join(folder, 'postgres'),
        logFile: join(folder, 'postgres.log'),
        password: 'test',
        sharedBuffersMb: 64,
        programs: neededPostgres(),
        withoutSync: true,
      });
      await migrate(postgres.url);
    });
    beforeEach(async () => {
      stage = await OperatorStage.make(cluster());
    });
    afterEach(() => stage.stop());
    afterAll(async () => {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const type = (command: string) =>
      shell(cluster(), command, {
        ...neededPostgres().env,
        DATABASE_URL: postgres.url,
      });

    async function insertRow(namespace: string, name: string, jid: string | null): Promise<void> {
      await query(
        postgres.url,
        `WITH a AS (INSERT INTO accounts (id, name) VALUES (gen_random_uuid(), '${namespace}-${name}') RETURNING id)
         INSERT INTO instances (id, account_id, name, kind, environment, interactive_mode, resource_namespace,
           resource_name, resource_uid, resource_generation, state, state_changed_at, jid, command_key_sealed)
         SELECT gen_random_uuid(), id, '${name}', 'web', 'live', 'native', '${namespace}', '${name}', '${name}', 1,
           'connected', now(), ${jid === null ? 'NULL' : `'${jid}'`}, '' FROM a`,
      );
    }

    const left = async () =>
      (await cluster().list<{ metadata: { name: string } }>(instancePath(stage.namespace))).map(
        ({ metadata }) => metadata.name,
      );

    test('end by one command, which prints the phones and touches no other namespace', async () => {
      const other = await cluster().namespace('other');
      const operator = await stage.operator();
      for (const name of ['shop', 'second', 'never-paired']) {
        await stage.create(name);
        await stage.untilIs(name, 'Accepted', 'True');
      }
      await stage.end(operator);
      await insertRow(stage.namespace, 'shop', '5511999990001:7@s.whatsapp.net');
      await insertRow(stage.namespace, 'second', '5511999990002@s.whatsapp.net');
      await insertRow(stage.namespace, 'never-paired', null);
      await insertRow(other, 'theirs', '5511999990003:1@s.whatsapp.net');
      const theirs = {
        apiVersion: 'gwk.dev/v1',
        kind: 'Instance',
        metadata: { name: 'theirs', namespace: other, finalizers: ['gwk.dev/engine'] },
        spec: { account: 'main', kind: 'sandbox' },
      };
      await cluster().applied(theirs);
      for (const name of await left()) await stage.delete(name);
      expect(await left()).toHaveLength(3);

      const command = readPageCommands('uninstall.md', 'psql "$DATABASE_URL"');
      const printed = type(command.replace('in messages;', `in ${stage.namespace};`));
      expect(await left()).toEqual([]);
      expect(printed.split('\n').filter((line) => line.includes('linked'))).toEqual([
        `${stage.namespace}/second stays linked on phone 5511999990002`,
        `${stage.namespace}/shop stays linked on phone 5511999990001`,
      ]);
      const kept = (await cluster().get(instancePath(other, 'theirs'))).body;
      expect(kept.metadata.finalizers).toEqual(['gwk.dev/engine']);
      await cluster().merge(instancePath(other, 'theirs'), { metadata: { finalizers: null } });
    });

    test('end one by one', async () => {
      const operator = await stage.operator();
      for (const name of ['shop', 'second']) {
        await stage.create(name);
        await stage.untilIs(name, 'Accepted', 'True');
      }
      await stage.end(operator);
      for (const name of await left()) await stage.delete(name);
      type(
        readPageCommands('uninstall.md', 'patch gwi shop').replace('-n messages', `-n ${stage.namespace}`),
      );
      expect(await left()).toEqual(['second']);
      await cluster().merge(instancePath(stage.namespace, 'second'), { metadata: { finalizers: null } });
    });
  });
});
