import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../program.js';
import { readPageBlocks } from '../readme.js';

/** The pages for administrators. A test types each of their shell blocks. */
export type AdministratorPage =
  'tutorials/kubernetes.md' | 'install.md' | 'kubernetes.md' | 'upgrade.md' | 'operate.md' | 'uninstall.md';

const POSTGRES = 'test/processes/dump.test.ts';
const STORED = 'test/kubernetes/resource-versions.test.ts';
/** Folder of the walk through these pages on a cluster that runs pods. */
export const WALK = 'test/e2e/documents/';
const walk = (page: string): string => `${WALK}${page}.ts`;

/** Each shell block of a page, by a text of the block, and the test that types it. `^` means that a block begins with the text. */
export const BLOCKS: Record<AdministratorPage, [text: string, typed: string][]> = {
  'tutorials/kubernetes.md': [
    ['kind load', walk('install')],
    ['images import', walk('install')],
    ['demo.enabled=true', walk('install')],
    ['get gwi first', walk('install')],
  ],
  'install.md': [
    ['create secret generic databases', walk('install')],
    ['--values values.yaml', walk('install')],
    ['service-name=kubernetes', walk('install')],
    ['get secret gwk', walk('install')],
  ],
  'kubernetes.md': [
    ['account create main', walk('kubernetes')],
    ['apply -f shop.yaml', walk('kubernetes')],
    ['condition=Ready gwi/shop', walk('kubernetes')],
    ['--field-selector', walk('kubernetes')],
    ['make build', walk('kubernetes')],
    ['--method code', walk('kubernetes')],
    ['condition=UpToDate', walk('upgrade')],
  ],
  'upgrade.md': [
    ['^helm upgrade gwk', walk('upgrade')],
    ['logs --prefix', walk('upgrade')],
    ['^kubectl -n messages delete job', walk('upgrade')],
    ['get gwi -A -o wide', walk('upgrade')],
    ['> instances.yaml', walk('upgrade')],
    ['"storedVersions":["v1alpha1"]', STORED],
    ['.status.storedVersions}', walk('upgrade')],
    ['"storedVersions":["v1"]', STORED],
    ['delete secret gwk-internal-tls', walk('upgrade')],
  ],
  'operate.md': [
    ['pg_dump ', walk('operate')],
    ['audit --since', walk('operate')],
    ['"msg":"audit"', walk('operate')],
    ['managed-by=gwk-operator,app.kubernetes.io/component=engine', walk('operate')],
    ['pg_restore ', walk('operate')],
    ['BEFORE_URL', walk('operate')],
    ['after-restore', walk('operate')],
    ['account suspend', walk('operate')],
    ['--set api.replicas=1', walk('operate')],
    ['--replicas=2', walk('operate')],
    ['instances.json | kubectl apply', walk('operate')],
    ['store_removals', POSTGRES],
    ['account limits acme', walk('operate')],
    ['--subject ins_...', walk('operate')],
    ['network-version show', walk('operate')],
  ],
  'uninstall.md': [
    ['delete gwi --all', walk('uninstall')],
    ['delete pods -l', walk('uninstall')],
    ['psql "$DATABASE_URL"', 'test/kubernetes/release-instances.test.ts'],
    ['patch gwi shop', walk('operate')],
  ],
};

const matches = (block: string, text: string): boolean =>
  text.startsWith('^') ? block.startsWith(text.slice(1)) : block.includes(text);

/** Shell blocks of a page that match this text. */
export const findBlocks = (page: AdministratorPage, text: string): string[] =>
  readPageBlocks(page, 'sh').filter((block) => matches(block, text));

/** @throws Error if none or several blocks match */
export function findBlock(page: AdministratorPage, text: string): string {
  const [block, ...others] = findBlocks(page, text);
  if (block === undefined || others.length > 0)
    throw new Error(`${page} must have exactly one block with ${text}`);
  return block;
}

/** Commands in the sentences and tables of a page. */
export function listInlineCommands(page: AdministratorPage): string[] {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8');
  return [...text.matchAll(/`((?:kubectl|docker) [^`\n]+)`/g)].map(([, command]) => command!);
}
