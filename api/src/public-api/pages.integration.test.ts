import { createContext, runInContext } from 'node:vm';
import { PROBLEMS } from '@gwk/core/problems/problems';
import { openApi } from '@gwk/test/support/api/open-api';
import { OPERATIONS } from './operations.js';
import type { ApiConfig } from '../http/services.js';
import { createPages } from './pages.js';
import type { TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;

beforeAll(async () => {
  api = await openApi({
    settings: { GWK_API_BASE_URL: 'https://api.example.org', GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '1000' },
  });
});
afterAll(() => api.stop());

const get = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${api.port}${path}`, { method });

/** The parts of a browser that a script uses while it loads. */
function browserLike(): Record<string, unknown> {
  const element = () => ({
    style: {},
    setAttribute: () => undefined,
    appendChild: () => undefined,
    addEventListener: () => undefined,
    querySelector: () => null,
  });
  const document = {
    createElement: element,
    documentElement: element(),
    body: element(),
    head: element(),
    addEventListener: () => undefined,
    querySelector: () => null,
    readyState: 'complete',
    cookie: '',
  };
  const { console, setTimeout, clearTimeout, URL, URLSearchParams, Headers, Request, Response, Blob } =
    globalThis;
  const given = { console, setTimeout, clearTimeout, URL, URLSearchParams, Headers, Request, Response, Blob };
  const page = { FormData, File, AbortController, TextEncoder, TextDecoder, document, history: {} };
  const navigator = { userAgent: 'test', platform: '' };
  const location = { href: 'https://api.example.org/docs', search: '', hash: '', protocol: 'https:' };
  const ignore = () => undefined;
  const all = {
    ...given,
    ...page,
    navigator,
    location,
    addEventListener: ignore,
    removeEventListener: ignore,
  };
  return Object.assign(all, { window: all, self: all });
}

describe('public pages', () => {
  test('GET /openapi.json is the OpenAPI document with the addresses of this gateway', async () => {
    const response = await get('/openapi.json');
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const document = (await response.json()) as {
      openapi: string;
      servers: unknown;
      paths: Record<string, object>;
    };
    expect([document.openapi, document.servers]).toEqual(['3.1.1', [{ url: 'https://api.example.org' }]]);
    expect(Object.values(document.paths).flatMap((item) => Object.keys(item))).toHaveLength(
      OPERATIONS.length,
    );
    expect(JSON.stringify(document)).toContain('https://docs.example.org/problems/not-found');
  });

  test('GET /docs shows it with local assets only, and its policy allows no others', async () => {
    const response = await get('/docs');
    const page = await response.text();
    const policy = response.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("connect-src 'self' https://api.example.org");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("style-src 'self';");
    const loaded = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
    const own = loaded.filter((url) => !url.startsWith('data:'));
    expect(own).toEqual(['docs/swagger-ui.css', 'docs/swagger-ui-bundle.js', 'docs/start.js']);
    for (const url of own) {
      const asset = await get(`/${url}`);
      expect([url, asset.status, asset.headers.get('x-content-type-options')]).toEqual([url, 200, 'nosniff']);
      expect(asset.headers.get('content-type')).toMatch(
        url.endsWith('.css') ? /^text\/css/ : /^text\/javascript/,
      );
    }
    expect(await (await get('/docs/start.js')).text()).toContain("url: 'openapi.json'");
  });

  test('the scripts of GET /docs run under its policy, without inline scripts or eval', async () => {
    const response = await get('/docs');
    const policy = response.headers.get('content-security-policy')!;
    expect(policy).not.toContain('unsafe-eval');
    const page = await response.text();
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|\son\w+=|javascript:|<style|\sstyle=/);
    const context = createContext(browserLike(), { codeGeneration: { strings: false, wasm: false } });
    expect(() => void runInContext("new Function('return 1')", context)).toThrow();
    runInContext(await (await get('/docs/swagger-ui-bundle.js')).text(), context);
    expect(runInContext('typeof SwaggerUIBundle', context)).toBe('function');
    let started: unknown;
    Object.assign(context, { SwaggerUIBundle: (settings: unknown) => (started = settings) });
    runInContext(await (await get('/docs/start.js')).text(), context);
    expect(started).toMatchObject({ url: 'openapi.json', dom_id: '#reference', validatorUrl: null });
    expect(page).toContain('id="reference"');
  });

  test.each(Object.keys(PROBLEMS))('GET /problems/%s is a page', async (code) => {
    const response = await get(`/problems/${code}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(await response.text()).toContain(`<h1><code>${code}</code></h1>`);
  });

  test('GET /problems lists all problems; an unknown one is not found', async () => {
    expect(await (await get('/problems')).text()).toContain('href="problems/not-found"');
    expect((await get('/problems/nothing')).status).toBe(404);
    expect((await get('/problems/toString')).status).toBe(404);
  });

  test('have rate limit headers and a request id, and allow only GET and HEAD', async () => {
    const { headers } = await get('/problems');
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get('ratelimit-limit')).toBe('1000');
    const refused = await get('/openapi.json', 'POST');
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await get('/docs', 'HEAD')).status).toBe(200);
  });
});

test('each page is kept in memory once', () => {
  const pages = createPages({ baseUrl: 'http://127.0.0.1' } as ApiConfig);
  for (const path of ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/openapi.json']) {
    const [first, second] = [pages.get(path)!().body, pages.get(path)!().body];
    expect(first).toBeInstanceOf(Buffer);
    expect(second).toBe(first);
  }
});
