/** Decides what of a page's request may be shown, and reach the page of the network. Pages are not trusted. */
const RP_ID = 'whatsapp.com';
const MAX_TEXT = 20_000;
const MAX_NAME = 80;
const MAX_PASSKEYS = 64;
/** The network gives 10 minutes. A clock may be wrong by some more. */
const MAX_MS = 30 * 60_000;

const NONE = { error: 'noRequest' };

/**
 * @param {string | null} text JSON of the request
 * @param {number} now
 * @returns `error`, a text of `_locales`, without a valid request
 */
export function readRequest(text, now) {
  if (text === null || text.length > MAX_TEXT) return NONE;
  try {
    const { name, phone, expires_at, options } = JSON.parse(text);
    const expiresAt = Date.parse(expires_at);
    const publicKey = readOptions(options, expiresAt - now);
    if (!publicKey || typeof name !== 'string' || Number.isNaN(expiresAt)) return NONE;
    if (expiresAt <= now || expiresAt >= now + MAX_MS) return { error: 'expired' };
    return { name: cleanText(name), phone: readPhone(phone), expiresAt, publicKey };
  } catch {
    return NONE;
  }
}

/**
 * The options of `navigator.credentials.get`, in the JSON form of WebAuthn. Extensions are left out: their results can be
 * secrets of the passkey, for example the key of encrypted backups.
 */
function readOptions({ challenge, rpId, userVerification, allowCredentials = [], timeout }, remainingMs) {
  if (rpId !== RP_ID || !isBase64Url(challenge)) return null;
  if (!Array.isArray(allowCredentials) || allowCredentials.length > MAX_PASSKEYS) return null;
  const passkeys = allowCredentials.map(readPasskey);
  if (passkeys.includes(null)) return null;
  return {
    challenge,
    rpId,
    userVerification: userVerification === 'required' ? 'required' : 'preferred',
    allowCredentials: passkeys,
    timeout: timeout > 0 && timeout < remainingMs ? timeout : remainingMs,
  };
}

function readPasskey({ id, type, transports }) {
  if (!isBase64Url(id) || type !== 'public-key') return null;
  return Array.isArray(transports) ? { id, type, transports: transports.map(String) } : { id, type };
}

const isBase64Url = (text) => typeof text === 'string' && /^[\w-]{1,1400}$/.test(text);

const readPhone = (phone) => (/^\+\d{5,15}$/.test(phone) ? phone : null);

/** Without characters that are invisible, break lines, change the direction of a text, or cover the lines above and below. */
function cleanText(text) {
  const visible = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').replace(/\s+/gu, ' ');
  return [...visible.replace(/(\p{M}{2})\p{M}+/gu, '$1')].slice(0, MAX_NAME).join('').trim();
}
