import { find, listPodTemplates, MINIMAL_VALUES, render, templateText } from '../support/chart/render.js';
import { describeChart } from './suite.js';

const POSTGRES = 'postgresql://gwk:secret@postgres.example.com:5432/gwk';
const POOLER = 'postgresql://gwk:secret@pooler.example.com:6432/gwk';
const EGRESS = [{ to: [{ ipBlock: { cidr: '192.0.2.7/32' } }], ports: [{ port: 5432, protocol: 'TCP' }] }];

/** Secret and key of the address of Postgres, by program. */
function databasesOf(values: object): Record<string, unknown> {
  const found = [...listPodTemplates(render(values))].flatMap(([name, { spec }]) => {
    const volume = spec.volumes?.find((each) => each.name === 'secrets') as
      | { projected?: { sources: { secret?: { name: string; items: { key: string; path: string }[] } }[] } }
      | undefined;
    const sources = volume?.projected?.sources.flatMap(({ secret }) => (secret ? [secret] : [])) ?? [];
    const source = sources.find(({ items }) => items.some(({ path }) => path === 'database-url'));
    const program = /gwk-(api|worker|migrate)/.exec(name)?.[1];
    return source && program ? [[program, `${source.name}/${source.items[0]!.key}`]] : [];
  });
  return Object.fromEntries(found) as Record<string, unknown>;
}

describeChart('connections to Postgres', () => {
  test('all programs use one address by default', () => {
    const address = 'databases/database-url';
    expect(databasesOf(MINIMAL_VALUES)).toEqual({ api: address, worker: address, migrate: address });
  });

  test('migrations can have a Secret of their own', () => {
    const values = {
      ...MINIMAL_VALUES,
      postgres: {
        existingSecret: 'pooler',
        migrationsExistingSecret: 'direct',
        migrationsUrlKey: 'uri',
        migrationsUrl: 'postgresql://unused:1/x',
      },
    };
    const pooler = 'pooler/database-url';
    expect(databasesOf(values)).toEqual({ api: pooler, worker: pooler, migrate: 'direct/uri' });
    expect(templateText(values)).not.toContain('unused');
  });

  test('migrations can have an address of their own, with their own egress rule', () => {
    const values = {
      ...MINIMAL_VALUES,
      postgres: { url: POOLER, migrationsUrl: POSTGRES },
      networkPolicy: { postgresPort: 6432, migrationsExtraEgress: EGRESS },
    };
    const objects = render(values);
    expect(databasesOf(values)).toMatchObject({
      api: 'gwk-connections/postgres-url',
      migrate: 'gwk-connections/migrations-url',
    });
    expect(find(objects, 'Secret', 'gwk-connections')['stringData']).toEqual({
      'postgres-url': POOLER,
      'migrations-url': POSTGRES,
    });
    const policy = find(objects, 'NetworkPolicy', 'gwk-migrations')['spec'] as { egress: unknown[] };
    expect(policy.egress).toContainEqual(EGRESS[0]);
  });

  test('refuses an address of migrations at a port without egress rule', () => {
    const values = {
      ...MINIMAL_VALUES,
      postgres: { url: POOLER, migrationsUrl: POSTGRES },
      networkPolicy: { postgresPort: 6432 },
    };
    expect(() => templateText(values)).toThrow(
      /postgres.migrationsUrl has the port 5432, and networkPolicy.postgresPort opens 6432: .*networkPolicy.migrationsExtraEgress/,
    );
  });
});
