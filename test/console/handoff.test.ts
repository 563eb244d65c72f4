import { describeWithChromium } from './chromium.js';
import { ConsoleStage } from './stage.js';

const OTHER = 'rui@example.com';
const OWNER = 'ana@example.com';

describeWithChromium('a sign-in link in a browser with a session', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open('handoff');
    await stage.createUser(OTHER, 'viewer');
  });
  afterAll(() => stage?.close());

  const TEXTS = {
    en: { question: /You are signed in as/, go: `Continue as ${OTHER}`, stay: `Stay signed in as ${OWNER}` },
    'pt-BR': { question: /Você entrou como/, go: `Continuar como ${OTHER}`, stay: `Ficar como ${OWNER}` },
  };

  test.each(['en', 'pt-BR'] as const)('of another person asks first (%s)', async (locale) => {
    const page = await stage.signIn({ locale });
    const readEmail = () =>
      page.evaluate(async () => {
        const answer = await fetch('/console/api/session');
        return ((await answer.json()) as { user: { email: string } }).user.email;
      });
    const { question, go, stay } = TEXTS[locale];
    const link = await stage.handoff(OTHER);
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByText(question).waitFor();
    expect(new URL(page.url()).hash).toBe('');
    await page.getByRole('link', { name: stay }).click();
    await page.getByRole('navigation').first().waitFor();
    expect(await readEmail()).toBe(OWNER);
    // The link has not been used.
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByRole('button', { name: go }).click();
    await page.getByRole('navigation').first().waitFor();
    expect(await readEmail()).toBe(OTHER);
    expect(stage.faults).toEqual([]);
    await page.context().close();
  });

  test('asks also after the session could not be read at first', async () => {
    const page = await stage.signIn({ locale: 'en' });
    const { question, go } = TEXTS.en;
    const redeemed: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') redeemed.push(request.url());
    });
    await page.route('**/console/api/session', (route) =>
      route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{}' }),
    );
    const link = await stage.handoff(OTHER);
    await page.goto('about:blank');
    await page.goto(link);
    const retry = page.getByRole('button', { name: 'Retry' });
    await retry.waitFor();
    await page.unroute('**/console/api/session');
    await retry.click();
    await page.getByText(question).waitFor();
    expect(redeemed).toEqual([expect.stringMatching(/\/handoff\/person$/)]);
    await page.getByRole('button', { name: go }).click();
    await page.getByRole('navigation').first().waitFor();
    expect(stage.faults).toEqual([]);
    await page.context().close();
  });

  test('of the same person asks nothing', async () => {
    const page = await stage.signIn({ locale: 'en' });
    await page.goto('about:blank');
    await page.goto(await stage.handoff(OWNER));
    await page.getByRole('navigation').first().waitFor();
    await page.context().close();
  });
});
