import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Customer } from '../support/gateway/customer.js';
import { SharedGateway } from './shared-gateway.js';
import { joinGateway } from './shared-stage.js';
import { ROOT } from '../support/program.js';
import { readerEnvironment, readPageSteps } from '../support/readme.js';
import { Shell } from '../support/shell.js';

const FIRST = 'getting-started.md';
const PAGES = [
  FIRST,
  'pairing.md',
  'sending.md',
  'media.md',
  'receiving.md',
  'replies-and-menus.md',
  'opt-out.md',
  'limits.md',
];

/**
 * Types the commands of the docs pages word for word, in reading order, and compares the output with the page: text
 * exactly, JSON for the fields that the page shows.
 */
describe('the pages of docs/', () => {
  const gateway = SharedGateway.get();
  const folder = mkdtempSync(join(tmpdir(), 'gwk-reader-'));
  let customer: Customer;
  let shell: Shell;

  beforeAll(async () => {
    customer = await joinGateway(gateway, 'docs');
    mkdirSync(join(folder, '.local'), { recursive: true });
    const access = { base_url: gateway.urls[0], api_key: customer.key.api_key };
    writeFileSync(join(folder, '.local/gwk.json'), JSON.stringify(access));
    symlinkSync(join(ROOT, 'examples'), join(folder, 'examples'));
    shell = new Shell(folder, readerEnvironment());
  });
  afterAll(() => {
    shell?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(PAGES)('every command of %s prints what the page shows', async (page) => {
    const steps = readPageSteps(page);
    expect(steps.length).toBeGreaterThan(1);
    for (const { command, output } of steps) {
      if (command.includes('/pairing/stream')) await scanCode();
      const printed = await shell.type(command);
      if (output === null) expect(printed).toBe('');
      else if (output.startsWith('{'))
        expect(JSON.parse(printed)).toMatchObject(JSON.parse(output) as object);
      else expect(lines(printed)).toEqual(lines(output));
    }
  });

  /** The test plays the network of this gateway. A sandbox of `make run` scans the code by itself. */
  async function scanCode(): Promise<void> {
    const { body } = await customer.client.call<{ data: { id: string }[] }>('GET', '/v1/instances');
    await gateway.network.phone(body.data[0]!.id, { kind: 'scan' });
  }

  test('links of docs/ point to existing files', () => {
    const broken = readdirSync(join(ROOT, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .flatMap((name) => {
        const text = readFileSync(join(ROOT, 'docs', name), 'utf8');
        const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => link!);
        return links.filter((link) => !isThere(join(ROOT, 'docs', link))).map((link) => `${name}: ${link}`);
      });
    expect(broken).toEqual([]);
  });
});

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim());

function isThere(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EISDIR';
  }
}
