import { readRequest } from './request.js';

/**
 * The window of one request. It reads the request of the tab whose toolbar button was pressed, asks the person, lets the
 * network's page ask the browser for the passkey, and gives the answer to the document that showed the request.
 */
const NETWORK = 'https://web.whatsapp.com';
const tabId = Number(new URLSearchParams(location.search).get('tab'));
const text = (key) => chrome.i18n.getMessage(key);
const language = text('language');
const element = (id) => document.getElementById(id);

/** Ends the window with a text of `_locales`. */
class Refusal extends Error {}

/** Aborted at the end of the request. The page gets no later answer. */
const expiry = new AbortController();

async function run() {
  const page = await readPage();
  // A document in a sandbox, for example a file that somebody uploaded, does not speak for the site of its address.
  if (!/^https?:\/\//.test(page.origin)) throw new Refusal('noRequest');
  if (!page.isSecure) throw new Refusal('insecure');
  const request = requireRequest(page);
  setTimeout(() => expiry.abort(new Refusal('expired')), request.expiresAt - Date.now());
  expiry.signal.addEventListener('abort', () => fail(expiry.signal.reason));
  showQuestion(page.origin, request);
  await new Promise((resolve) => element('continue').addEventListener('click', resolve, { once: true }));
  show('waiting');
  const credential = await askNetwork(requireRequest(page).publicKey);
  requireRequest(page);
  await answerPage(page, credential);
  await chrome.tabs.update(tabId, { active: true });
  window.close();
}

/** Reads the top-level document only. The browser gives each document an id, also each new one in the same tab. */
async function readPage() {
  const target = { tabId, frameIds: [0] };
  const [{ result, documentId }] = await runIn(target, 'noRequest', readDocument);
  return { ...result, documentId };
}

/** The request, while it is valid. The timer can be late, for example after the computer slept. */
function requireRequest({ text: asked }) {
  expiry.signal.throwIfAborted();
  const request = readRequest(asked, Date.now());
  if (request.error) throw new Refusal(request.error);
  return request;
}

async function askNetwork(publicKey) {
  const opened = await chrome.windows.create({ url: `${NETWORK}/`, type: 'popup', width: 900, height: 720 });
  const networkTab = opened.tabs[0].id;
  const close = () => chrome.windows.remove(opened.id).catch(() => undefined);
  expiry.signal.addEventListener('abort', close);
  try {
    expiry.signal.throwIfAborted();
    await untilLoaded(networkTab);
    const target = { tabId: networkTab, frameIds: [0] };
    const [{ result }] = await runIn(target, 'networkClosed', getCredential, NETWORK, publicKey);
    if (!result?.credential) throw new Refusal(result?.error ?? 'networkClosed');
    return result.credential;
  } finally {
    await close();
  }
}

/** Fails if the tab shows another document meanwhile, of whatever origin. */
async function answerPage({ documentId, text: asked }, credential) {
  const target = { tabId, documentIds: [documentId] };
  const [{ result }] = await runIn(target, 'pageGone', answerDocument, asked, JSON.stringify(credential));
  if (!result) throw new Refusal('pageGone');
}

/** Runs a function in a document, in a world of its own: scripts of the page can neither see nor change it. */
function runIn(target, failure, func, ...args) {
  return chrome.scripting.executeScript({ target, func, args }).catch(() => {
    throw new Refusal(failure);
  });
}

function untilLoaded(id) {
  return new Promise((resolve, reject) => {
    const check = async () => {
      const tab = await chrome.tabs.get(id);
      if (tab.status === 'complete') resolve();
    };
    const end = () => reject(new Refusal('networkClosed'));
    chrome.tabs.onUpdated.addListener((updated) => updated === id && check().catch(end));
    chrome.tabs.onRemoved.addListener((removed) => removed === id && end());
    check().catch(end);
  });
}

// The next three functions run in pages, and must not use anything outside them.

function readDocument() {
  const shown = document.querySelector('[data-gwk-passkey]');
  return {
    // Unlike `location.origin`, this is "null" in a sandbox.
    origin: self.origin,
    isSecure: isSecureContext,
    text: shown && shown.getAttribute('data-gwk-passkey'),
  };
}

async function getCredential(network, options) {
  if (location.origin !== network) return { error: 'networkClosed' };
  try {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    const credential = (await navigator.credentials.get({ publicKey })).toJSON();
    const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
    const response = { clientDataJSON, authenticatorData, signature, userHandle };
    return { credential: { id: credential.id, rawId: credential.rawId, type: credential.type, response } };
  } catch {
    return { error: 'notGiven' };
  }
}

/** @returns false if the page no longer shows this request */
function answerDocument(asked, credential) {
  const shown = document.querySelector('[data-gwk-passkey]');
  if (!shown || shown.getAttribute('data-gwk-passkey') !== asked) return false;
  shown.dispatchEvent(new CustomEvent('gwk-passkey', { detail: credential }));
  return true;
}

function showQuestion(origin, { name, phone, expiresAt }) {
  element('origin').textContent = origin;
  element('number').textContent = name;
  element('phone').textContent = phone ?? '';
  element('until').textContent = new Date(expiresAt).toLocaleTimeString(language);
  show('question');
}

/** The end of the request also closes the network's window, which then fails for a reason of its own. */
function fail(error) {
  const reason = expiry.signal.reason ?? error;
  element('reason').textContent = text(reason instanceof Refusal ? reason.message : 'unexpected');
  show('failure');
}

function show(section) {
  for (const each of document.querySelectorAll('section')) each.hidden = each.id !== section;
}

document.documentElement.lang = language;
for (const each of document.querySelectorAll('[data-text]')) each.textContent = text(each.dataset.text);
for (const each of document.querySelectorAll('.close')) each.addEventListener('click', () => window.close());
run().catch(fail);
