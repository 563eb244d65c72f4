// PageWalk adds this script to its pages. It runs before the scripts of the page.

/** The default timeout of Playwright. Only a condition that never holds reaches it. */
const TIMEOUT_MS = 30_000;
const ABSENT = '0'.repeat(32);
const IDS = /\b([a-z]{3})_[0-9a-f]{32}\b/g;

const send = window.fetch;
/** Answers of the API since the last visit: `method`, `path` and `status` of each. */
const answers = [];
let pending = 0;

/**
 * Changes go to resources that do not exist: the API checks rights before it looks for the resource, so nothing is lost.
 * Numbers and accounts are not created: the page would leave for the new one.
 */
async function redirectChange(request) {
  if (request.method === 'GET') return request;
  const url = request.url.replace(IDS, `$1_${ABSENT}`).replace(/opt-outs\/\d+/, 'opt-outs/5500000000000');
  const sent = await request.text();
  const isCreation = /\/(instances|platform\/accounts)$/.test(url);
  const body = isCreation ? '[]' : sent.replace(IDS, `$1_${ABSENT}`);
  const { method, headers, signal } = request;
  return new Request(url, { method, headers, signal, ...(sent !== '' && { body }) });
}

window.fetch = async (input, init) => {
  pending++;
  try {
    const request = await redirectChange(new Request(input, init));
    const answer = await send(request);
    const { pathname } = new URL(request.url);
    answers.push({ method: request.method, path: pathname, status: answer.status });
    // A page renders an answer when it has the whole body. Streams do not end.
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
    if (!isStream) await answer.clone().arrayBuffer();
    return answer;
  } finally {
    pending--;
  }
};

/**
 * Resolves when the page has no more tasks. React renders a navigation in several tasks, between which a timer may fire,
 * but no idle callback.
 */
const nextIdle = () => new Promise((resolve) => setTimeout(() => requestIdleCallback(resolve)));

async function until(what, condition) {
  const end = Date.now() + TIMEOUT_MS;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`${location.pathname}: not within ${TIMEOUT_MS} ms: ${what}`);
    await nextIdle();
  }
}

const findAll = (part, selector) => [...part.querySelectorAll(selector)];
const isVisible = (element) => element.checkVisibility({ visibilityProperty: true });
const findTabs = () => findAll(document, 'main [role=tab]');
const findDialog = () => findAll(document, '[role=dialog]').find(isVisible);

/** Waits until the page has the answers to all its requests, and has rendered them. */
async function settle() {
  let calm = 0;
  await until('all answers are rendered', () => {
    const isBusy = pending > 0 || document.querySelector('.mantine-Loader-root') !== null;
    calm = isBusy ? 0 : calm + 1;
    return calm > 2;
  });
}

const pressEscape = (target) =>
  target.dispatchEvent(
    new KeyboardEvent('keydown', { key: 'Escape', code: 'Escape', bubbles: true, cancelable: true }),
  );

/** Chooses the first option that is not chosen yet, and closes the list. */
async function chooseFirst(field) {
  field.click();
  await settle();
  findAll(document, '[role=option]:not([aria-selected=true])').find(isVisible)?.click();
  await settle();
  // An Escape after the list is closed would close the dialog of the field.
  if (field.getAttribute('aria-expanded') !== 'true') return;
  pressEscape(field);
  await settle();
}

/** React replaces the property `value` of the element and ignores what is set through it, so use the prototype. */
function write(field, text) {
  const { prototype } = field.tagName === 'TEXTAREA' ? HTMLTextAreaElement : HTMLInputElement;
  Object.getOwnPropertyDescriptor(prototype, 'value').set.call(field, text);
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

/** Fills the empty fields of forms, so that their submission sends a request. */
async function fill(part) {
  for (const form of document.forms) form.noValidate = true;
  const types = [':not([type])', '[type=text]'].map((type) => `form input${type}:enabled`);
  for (const field of findAll(part, [...types, 'form textarea:enabled'].join())) {
    // A choice in a former field may have replaced this one.
    if (!isVisible(field) || field.readOnly || field.value !== '') continue;
    if (field.getAttribute('aria-haspopup') === 'listbox') {
      await chooseFirst(field);
    } else {
      write(field, '5511987654321');
      await settle();
    }
  }
}

/** Completes the dialog that a button has opened, if any, and closes it. */
async function useDialog() {
  const dialog = findDialog();
  if (dialog === undefined) return;
  await fill(dialog);
  dialog.querySelector('button[type=submit]:enabled')?.click();
  await settle();
  if (findDialog() !== undefined) pressEscape(document.activeElement ?? document.body);
  await until('the dialog closes', () => findDialog() === undefined);
}

async function useContent() {
  const { pathname } = location;
  const main = document.querySelector('main');
  await fill(main);
  for (const button of findAll(main, 'button:enabled:not([role=tab], [aria-label=Copy])')) {
    button.click();
    await settle();
    await useDialog();
    if (location.pathname !== pathname)
      throw new Error(`a button of ${pathname} leads to ${location.pathname}`);
  }
  for (const choice of findAll(main, 'input[aria-haspopup=listbox]:enabled')) await chooseFirst(choice);
}

/** Opens the address through the router of the console, because a load of the console takes longer than all other steps. */
async function openPage(address) {
  const { pathname } = new URL(address);
  // An absent page between two pages ends the state of the former, also if both have the same component.
  const absent = [...pathname.split('/').slice(0, 3), 'absent'].join('/');
  for (const next of [absent, address]) {
    const heading = document.querySelector('h1');
    history.pushState(null, '', next);
    dispatchEvent(new PopStateEvent('popstate'));
    await until('the page opens', () => !heading.isConnected && document.querySelector('h1') !== null);
  }
  await settle();
}

window.gwkWalk = {
  /** Opens the address and uses each form, button and choice of the page, and of its other tabs. @returns answers of the API */
  async visit(address) {
    await openPage(address);
    await useContent();
    // The visit of the address without a tab uses all tabs.
    if (new URL(address).searchParams.has('tab')) return answers.splice(0);
    const others = findTabs().filter((tab) => tab.ariaSelected !== 'true');
    for (const name of others.map((tab) => tab.textContent)) {
      // A change of the resource may have replaced the elements.
      const find = () => findTabs().find((tab) => tab.textContent === name);
      await until(`the tab ${name} is shown`, () => find() !== undefined);
      find().click();
      await until(`the tab ${name} opens`, () => find()?.ariaSelected === 'true');
      await settle();
      await useContent();
    }
    return answers.splice(0);
  },
};
