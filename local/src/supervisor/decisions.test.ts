import { ConfigError } from '@gwk/core/config/load';
import { endsInARow, restartDelay } from './backoff.js';
import { commandEnvironment, programEnvironment, type Wiring } from './environments.js';
import { neededPorts } from './ports.js';
import { loadLocalConfig, type ProgramName } from './settings.js';

describe('starting again', () => {
  test('waits 1 s, then longer, never more than 30 s', () => {
    expect([1, 2, 3, 4, 5, 6, 20].map(restartDelay)).toEqual([1000, 2000, 4000, 8000, 16000, 30000, 30000]);
  });

  test('counts from one again after a minute of running', () => {
    expect(endsInARow(4, 59_999)).toBe(5);
    expect(endsInARow(4, 60_000)).toBe(1);
  });
});

const wiring = (env: Record<string, string> = {}): Wiring => ({
  config: loadLocalConfig(env),
  secrets: {
    sealingKey: 'sealing-key',
    operatorToken: 'operator-token',
    clusterToken: 'cluster-token',
    postgresPassword: 'postgres-password',
    redisPassword: 'redis-password',
  },
  databaseUrl: 'postgresql://database',
  redisUrl: 'redis://redis',
  instances: '/instances',
  media: '/media',
});

describe('environments', () => {
  const user = {
    PATH: '/bin',
    AWS_SECRET_ACCESS_KEY: 'of the user',
    DATABASE_URL: 'of the user',
    GWK_LOCAL_API_PORT: '9000',
    GWK_API_REQUESTS_PER_MINUTE: '5',
    GWK_API_HOST: '0.0.0.0',
    GWK_WORKER_WEBHOOK_TIMEOUT_MS: '7',
    GWK_LOG_LEVEL: 'debug',
  };

  test('the operator, and so its engines, has no database, no Redis and no sealing key', () => {
    const env = programEnvironment('operator', wiring(), user);
    expect(Object.keys(env).filter((name) => !name.startsWith('GWK_OPERATOR_'))).toEqual([
      'PATH',
      'NODE_ENV',
      'GWK_LOG_LEVEL',
      'GWK_EXIT_WITH_PARENT',
    ]);
  });

  test('the operator is told of a simulated network, for its engines', () => {
    const network = { url: 'ws://127.0.0.1:8090/ws/chat', root: 'ab', media_ca: '/ca.pem' };
    expect(programEnvironment('operator', { ...wiring(), network }, user)).toMatchObject({
      GWK_OPERATOR_NETWORK_URL: network.url,
      GWK_OPERATOR_NETWORK_ROOT: network.root,
      GWK_OPERATOR_NETWORK_CA_FILE: network.media_ca,
    });
  });

  test('each program gets its own settings of the user, none of the others, and never an open address', () => {
    const api = programEnvironment('api', wiring(), user);
    expect(api).toMatchObject({
      GWK_API_REQUESTS_PER_MINUTE: '5',
      GWK_API_HOST: '127.0.0.1',
      GWK_LOG_LEVEL: 'debug',
    });
    expect(Object.keys(api)).not.toContain('GWK_WORKER_WEBHOOK_TIMEOUT_MS');
    const worker = programEnvironment('worker', wiring(), user);
    expect(worker).toMatchObject({ GWK_WORKER_WEBHOOK_TIMEOUT_MS: '7', GWK_WORKER_HOST: '127.0.0.1' });
    expect(Object.values({ ...api, ...worker })).not.toContain('of the user');
  });

  test('a collector of traces is told to all, and Prometheus to the worker alone', () => {
    const seen = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
      PROMETHEUS_URL: 'http://127.0.0.1:9090',
    };
    const told = (name: ProgramName) =>
      Object.keys(programEnvironment(name, wiring(), { ...user, ...seen })).filter((each) => each in seen);
    expect(told('api')).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT']);
    expect(told('operator')).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT']);
    expect(told('worker')).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT', 'PROMETHEUS_URL']);
  });

  test('commands get the database and the sealing key', () => {
    expect(commandEnvironment(wiring(), user)).toEqual({
      PATH: '/bin',
      NODE_ENV: 'production',
      DATABASE_URL: 'postgresql://database',
      GWK_ENCRYPTION_KEYS: 'sealing-key',
    });
  });

  test('a setting of make run that does not exist is refused', () => {
    expect(() => loadLocalConfig({ GWK_LOCAL_API_PROT: '9000' })).toThrow(ConfigError);
    expect(() => loadLocalConfig({ GWK_LOCAL_API_PORT: 'many' })).toThrow(/GWK_LOCAL_API_PORT/);
  });
});

test('the ports of a simulated network are needed only where there is one', () => {
  const needed = (env: Record<string, string>) =>
    neededPorts(loadLocalConfig(env)).filter((name) => name.startsWith('network'));
  expect(needed({})).toEqual([]);
  expect(needed({ NETWORK: 'simulated' })).toEqual(['networkPort', 'networkControlPort', 'networkMediaPort']);
  expect(() => needed({ NETWORK: 'dreamt' })).toThrow(ConfigError);
});
