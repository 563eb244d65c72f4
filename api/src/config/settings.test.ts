import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiSettings } from './api.js';
import { engineSettings } from '@gwk/core/config/engine';
import {
  ConfigError,
  loadConfig,
  rotatingSetting,
  secretSetting,
  setting,
  types,
} from '@gwk/core/config/load';
import { operatorSettings } from '@gwk/core/config/operator';
import { workerSettings } from './worker.js';
import { inFakeTime } from '@gwk/test/support/fake-time';

const settings = {
  port: setting('GWK_X_PORT', types.integer(1, 65535).default(80), 'Port.'),
  mode: setting('GWK_X_MODE', types.oneOf('a', 'b').default('a'), 'Mode.'),
  secret: secretSetting('GWK_X_SECRET', types.text(10), 'Secret.'),
};
const faultsOf = (env: Record<string, string>): readonly string[] => {
  try {
    loadConfig(settings, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
};

test('uses defaults for missing and empty variables', () => {
  expect(loadConfig(settings, { GWK_X_SECRET: '0123456789', GWK_X_PORT: '' })).toEqual({
    port: 80,
    mode: 'a',
    secret: '0123456789',
  });
});

test('lists all faults, without secret values', () => {
  const faults = faultsOf({ GWK_X_PORT: 'eighty', GWK_X_MODE: 'c', GWK_X_SECRET: 'short' });
  expect(faults).toHaveLength(3);
  expect(faults.join('\n')).toMatch(/GWK_X_PORT="eighty"[^]*GWK_X_MODE="c"[^]*GWK_X_SECRET=\(hidden\)/);
  expect(faults.join('\n')).not.toContain('short');
});

test('names a missing required setting', () => {
  expect(faultsOf({})).toEqual(['GWK_X_SECRET is not set']);
});

test('suggests the nearest name for an unknown GWK_ variable', () => {
  expect(faultsOf({ GWK_X_SECRET: '0123456789', GWK_X_PROT: '1' })).toEqual([
    'GWK_X_PROT is not a setting of this program; did you mean GWK_X_PORT?',
  ]);
});

describe('a value from a file', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'gwk-config-')), 'secret');
  writeFileSync(file, 'from a file\n');

  test('is trimmed', () => {
    expect(loadConfig(settings, { GWK_X_SECRET_FILE: file }).secret).toBe('from a file');
  });
  test('conflicts with the variable itself', () => {
    expect(faultsOf({ GWK_X_SECRET_FILE: file, GWK_X_SECRET: '0123456789' })).toHaveLength(1);
  });
  test('must exist', () => {
    expect(faultsOf({ GWK_X_SECRET_FILE: '/nowhere' })[0]).toMatch(/cannot read \/nowhere: ENOENT/);
  });
});

const programs = {
  api: apiSettings,
  worker: workerSettings,
  operator: operatorSettings,
  engine: engineSettings,
};
test.each(Object.entries(programs))(
  'every setting of %s has a unique name and a description in sentences',
  (_name, program) => {
    const all = Object.values(program);
    expect(new Set(all.map((one) => one.env)).size).toBe(all.length);
    for (const one of all) {
      expect(one.env).toMatch(
        /^(GWK_[A-Z0-9_]+|DATABASE_URL|REDIS_URL|PROMETHEUS_URL|HTTPS_PROXY|NO_PROXY|OTEL_[A-Z_]+)$/,
      );
      expect(one.doc).toMatch(/^[A-Z].*[.]$/s);
    }
  },
);

describe('a rotating secret', () => {
  const settings = { token: rotatingSetting('GWK_TEST_TOKEN', types.text(), 'a token') };

  test(
    'rereads its file, and keeps the value while the file is empty or missing',
    inFakeTime(async (pass) => {
      const folder = mkdtempSync(join(tmpdir(), 'gwk-config-'));
      const file = join(folder, 'token');
      writeFileSync(file, 'first\n');
      const { token } = loadConfig(settings, { GWK_TEST_TOKEN_FILE: file });
      writeFileSync(file, 'second');
      expect(token()).toBe('first');
      await pass(11_000);
      expect(token()).toBe('second');
      writeFileSync(file, '');
      await pass(11_000);
      expect(token()).toBe('second');
      rmSync(folder, { recursive: true });
      await pass(11_000);
      expect(token()).toBe('second');
    }),
  );

  test('keeps a value that is not from a file', () => {
    expect(loadConfig(settings, { GWK_TEST_TOKEN: 'given' }).token()).toBe('given');
  });

  test('is required', () => {
    expect(() => loadConfig(settings, {})).toThrow(/GWK_TEST_TOKEN is not set/);
  });
});
