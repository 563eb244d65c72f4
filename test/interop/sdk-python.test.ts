import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Gwk } from '@gwk/client';
import ts from 'typescript';
import { typeTutorial } from '../support/docs/tutorial.js';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { ROOT } from '../support/program.js';
import { hasPython, preparePython, runTool } from '../support/python.js';
import { until } from '../support/wait.js';

// The tests of the Python client (sdk/python/tests), the program of docs/tutorials/python.md and the requests of the API
// reference, with a running gateway.

/** Plain JavaScript without declarations. */
const [REFERENCE, SAMPLES]: string[] = ['../../site/reference.js', '../../site/samples.js'];
interface Operation {
  operationId: string;
}
const { listRequests } = (await import(REFERENCE!)) as { listRequests: (document: object) => Operation[] };
const { writeSamples } = (await import(SAMPLES!)) as {
  writeSamples: (request: Operation) => Record<'curl' | 'javascript' | 'python', string>;
};
type Methods = Record<string, Record<string, unknown> | undefined>;

const FOLDER = join(ROOT, 'sdk/python');
const PACKAGE = join(FOLDER, 'build');
const SOURCES = ['_call', '_client', '_operations', '_retry', '_transport', 'errors', '__init__'];

const mustRun = process.env['CI'] === 'true';
const describeWithPython = hasPython || mustRun ? describe : describe.skip;
describeWithPython(`the client for Python${hasPython ? '' : ' (needs Python 3.10)'}`, () => {
  let bin: string;
  let gateway: Gateway;
  let customer: Customer;
  let env: Record<string, string>;
  beforeAll(async () => {
    runTool(process.execPath, [join(FOLDER, 'build.js')]);
    bin = await preparePython();
    gateway = await Gateway.start();
    customer = await newCustomer(gateway, 'python');
    const { id } = await customer.client.connectedInstance('python');
    env = {
      GWK_URL: gateway.urls[0]!,
      GWK_ADDRESS: gateway.urls[0]!,
      GWK_API_KEY: customer.key.api_key,
      GWK_INSTANCE: id,
      INSTANCE_ID: id,
      GWK_DOCUMENT: join(PACKAGE, 'openapi.json'),
      PYTHONPATH: PACKAGE,
      PYTHONDONTWRITEBYTECODE: '1',
    };
  });
  afterAll(async () => {
    customer?.close();
    await gateway?.stop();
  });

  test('is typed', () => {
    const files = SOURCES.map((name) => join(PACKAGE, `gwk_client/${name}.py`));
    const options = ['--strict', '--follow-imports', 'silent', '--python-version', '3.10'];
    runTool(join(bin, 'mypy'), ['--cache-dir', join(PACKAGE, '.mypy'), ...options, ...files], {
      cwd: PACKAGE,
    });
  });

  test('passes its tests', async () => {
    // Not spawnSync: the gateway's output must be read while the tests run.
    const output = await runProgram(join(bin, 'python'), ['-m', 'pytest', '--tb=short'], env);
    expect(output).toMatch(/\d+ passed/);
    expect(output).not.toMatch(/\d+ (skipped|failed)/);
  });

  test('a reader of the Python tutorial sends, follows and answers', async () => {
    const folder = mkdtempSync(join(PACKAGE, 'tutorial-'));
    const access = { base_url: env['GWK_URL']!, api_key: env['GWK_API_KEY']! };
    const reader = { PATH: `${bin}:${process.env['PATH']}`, PYTHONPATH: PACKAGE };
    const id = await typeTutorial({ language: 'python', file: 'bot.py', folder, access, env: reader });
    rmSync(folder, { recursive: true });
    const answered = async () => {
      const path = `/v1/messages?instance_id=${id}`;
      const { data } = await customer.client.expect<{ data: { direction: string }[] }>(200, 'GET', path);
      return data.filter(({ direction }) => direction === 'outbound').length === 2;
    };
    await until(answered, { what: 'the program has answered' });
  });

  describe('the requests of the API reference', () => {
    const samples = () => {
      const document = JSON.parse(readFileSync(env['GWK_DOCUMENT']!, 'utf8')) as object;
      return new Map(listRequests(document).map((one) => [one.operationId, writeSamples(one)]));
    };

    test('are valid, and name methods of the clients', () => {
      const all = [...samples().values()];
      expect(all.length).toBeGreaterThan(40);
      runTool('bash', ['--norc', '-n', '-c', all.map(({ curl }) => curl).join('\n')]);
      const options = { reportDiagnostics: true, compilerOptions: { module: ts.ModuleKind.ESNext } };
      const client = new Gwk({ baseUrl: env['GWK_URL']!, apiKey: 'none' }) as object as Methods;
      for (const { javascript } of all) {
        expect(ts.transpileModule(javascript, options).diagnostics).toEqual([]);
        const [, group, method] = /client\.(\w+)\.(\w+)\(/.exec(javascript)!;
        expect([group, method, typeof client[group!]?.[method!]]).toEqual([group, method, 'function']);
      }
      const check = `
import json, re, sys
from gwk_client import Gwk
gwk = Gwk("http://localhost", "none")
for text in json.loads(sys.argv[1]):
    compile(text, "sample", "exec")
    group, method = re.search(r"gwk\\.(\\w+)\\.(\\w+)\\(", text).groups()
    getattr(getattr(gwk, group), method)
`;
      const texts = JSON.stringify(all.map(({ python }) => python));
      runTool(join(bin, 'python'), ['-c', check, texts], { env });
    });

    test.each(['sendMessage', 'getInstance', 'listMessages'])('%s runs in each language', async (name) => {
      const { curl, javascript, python } = samples().get(name)!;
      const outputs = await Promise.all([
        runProgram('bash', ['--norc', '-c', curl], env),
        runProgram(process.execPath, ['--input-type=module', '-e', javascript], env),
        runProgram(join(bin, 'python'), ['-c', python], env),
      ]);
      for (const output of outputs) expect(output).toContain(env['INSTANCE_ID']);
    });
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
