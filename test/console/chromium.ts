import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type LaunchOptions, type Page } from 'playwright-core';
import { unpackDebianPackages } from '../support/debian-package.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gwk/chromium');
const LIBRARIES: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

interface Installed {
  path: string;
  /** Folder of libraries that the system does not have. */
  libraries?: string;
}

/** Chromium of the system, or of Debian packages that are unpacked once into the user's cache; null: neither. */
const installed: Installed | null = findInstalled() ?? findUnpacked();

/** The name of the tests says why they are skipped. With CI=true they fail instead. */
export function describeWithChromium(name: string, tests: () => void): void {
  if (installed || process.env['CI'] === 'true') describe(name, tests);
  else describe.skip(`${name} (no Chromium, and apt has none)`, tests);
}

export function startChromium(): Promise<Browser> {
  return chromium.launch(launchOptions());
}

/** A browser with one profile, which may have extensions. */
export function startProfile(args: string[]): Promise<BrowserContext> {
  const options = launchOptions([...args, '--enable-unsafe-extension-debugging']);
  const more = { locale: 'en-US', ignoreDefaultArgs: ['--disable-extensions'] };
  return chromium.launchPersistentContext('', { ...options, ...more });
}

function launchOptions(args: string[] = []): LaunchOptions {
  if (!installed) throw new Error('Chromium is not installed, and apt cannot download it');
  const { path, libraries } = installed;
  const env = { ...process.env, ...(libraries !== undefined && { LD_LIBRARY_PATH: libraries }) };
  // Chromium refuses to run as root with its sandbox. The pages are those of this repository.
  return { executablePath: path, args: ['--no-sandbox', ...args], env };
}

/** A passkey in the form that the authenticator of Chromium takes. */
export interface StoredPasskey {
  credentialId: string;
  isResidentCredential: boolean;
  rpId: string;
  privateKey: string;
  userHandle: string;
  signCount: number;
}

/** Adds an authenticator that verifies its person and stores passkeys, like that of a notebook; or a phone with this passkey. */
export async function addAuthenticator(page: Page, passkey?: StoredPasskey): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: passkey ? 'cable' : 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  if (passkey) await session.send('WebAuthn.addCredential', { authenticatorId, credential: passkey });
}

function findInstalled(): Installed | null {
  const found = NAMES.map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout?.trim());
  const path = found.find((line) => line);
  return path === undefined ? null : { path };
}

function findUnpacked(): Installed | null {
  const root = join(CACHE, 'root');
  const unpacked = {
    path: join(root, 'usr/lib/chromium/chromium'),
    libraries: join(root, 'usr/lib', LIBRARIES[process.arch] ?? process.arch),
  };
  if (!existsSync(unpacked.path)) fetchPackages();
  return existsSync(unpacked.path) ? unpacked : null;
}

function fetchPackages(): void {
  const work = `${CACHE}.${process.pid}`;
  try {
    if (!unpackDebianPackages(['chromium', 'fonts-dejavu-core'], work)) return;
    mkdirSync(dirname(CACHE), { recursive: true });
    // Another process may have unpacked the packages meanwhile.
    if (!existsSync(CACHE)) renameSync(work, CACHE);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
