import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { typeTutorial } from '../support/docs/tutorial.js';
import { newCustomer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { ROOT } from '../support/program.js';
import { hasPython, preparePython, runTool } from '../support/python.js';
import { until } from '../support/wait.js';

// The tests of the Python client (sdk/python/tests) and the program of docs/tutorials/python.md, with a running gateway.

const FOLDER = join(ROOT, 'sdk/python');
const PACKAGE = join(FOLDER, 'build');
const SOURCES = ['_call', '_client', '_operations', '_retry', '_transport', 'errors', '__init__'];

const mustRun = process.env['CI'] === 'true';
const describeWithPython = hasPython || mustRun ? describe : describe.skip;
describeWithPython(`the client for Python${hasPython ? '' : ' (needs Python 3.10)'}`, () => {
  let bin: string;
  beforeAll(async () => {
    runTool(process.execPath, [join(FOLDER, 'build.js')]);
    bin = await preparePython();
  });

  test('is typed', () => {
    const files = SOURCES.map((name) => join(PACKAGE, `gwk_client/${name}.py`));
    const options = ['--strict', '--follow-imports', 'silent', '--python-version', '3.10'];
    runTool(join(bin, 'mypy'), ['--cache-dir', join(PACKAGE, '.mypy'), ...options, ...files], {
      cwd: PACKAGE,
    });
  });

  test('passes its tests', async () => {
    const gateway = await Gateway.start();
    try {
      const customer = await newCustomer(gateway, 'python');
      const instance = await customer.client.connectedInstance('python');
      const env = {
        GWK_URL: gateway.urls[0],
        GWK_API_KEY: customer.key.api_key,
        GWK_INSTANCE: instance.id,
        GWK_DOCUMENT: join(PACKAGE, 'openapi.json'),
        PYTHONPATH: PACKAGE,
        PYTHONDONTWRITEBYTECODE: '1',
      };
      // Not spawnSync: the gateway's output must be read while the tests run.
      const output = await runProgram(join(bin, 'python'), ['-m', 'pytest', '--tb=short'], env);
      expect(output).toMatch(/\d+ passed/);
      expect(output).not.toMatch(/\d+ (skipped|failed)/);
      const folder = mkdtempSync(join(PACKAGE, 'tutorial-'));
      const access = { base_url: env.GWK_URL!, api_key: env.GWK_API_KEY };
      const reader = { PATH: `${bin}:${process.env['PATH']}`, PYTHONPATH: PACKAGE };
      const id = await typeTutorial({ language: 'python', file: 'bot.py', folder, access, env: reader });
      rmSync(folder, { recursive: true });
      const answered = async () => {
        const path = `/v1/messages?instance_id=${id}`;
        const { data } = await customer.client.expect<{ data: { direction: string }[] }>(200, 'GET', path);
        return data.filter(({ direction }) => direction === 'outbound').length === 2;
      };
      await until(answered, { what: 'the program has answered' });
      customer.close();
    } finally {
      await gateway.stop();
    }
  });
});

async function runProgram(command: string, args: string[], env: object): Promise<string> {
  const child = spawn(command, args, { cwd: FOLDER, env: { ...process.env, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(output);
  return output;
}
