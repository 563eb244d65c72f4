/** Problems that only the console and requests by session receive (problems.ts). API keys never receive them. */
export const CONSOLE_PROBLEMS = {
  'invalid-credentials': {
    status: 401,
    title: 'Wrong e-mail or password',
    detail: 'E-mail ou senha incorretos.',
    when: 'No user has this e-mail and password. The answer and its time are the same for unknown e-mails.',
    then: 'Correct them, or ask an administrator for `gwk user reset`.',
  },
  'login-locked': {
    status: 429,
    title: 'Too many failed sign-ins',
    detail: 'Tentativas de acesso demais; aguarde alguns minutos.',
    when: 'In the last 15 minutes 10 sign-ins with this e-mail or 50 from this address failed. A right password does not end the lock.',
    then: 'Retry after `Retry-After` seconds.',
  },
  'csrf-failed': {
    status: 403,
    title: 'CSRF token missing or wrong',
    detail: 'O cabeçalho X-CSRF-Token está ausente ou não pertence à sessão.',
    when: 'A request by session changes something, and its header `X-CSRF-Token` is missing or belongs to another session.',
    then: 'Send `csrf_token` of `GET /console/api/session`.',
  },
  'origin-not-allowed': {
    status: 403,
    title: 'Origin not allowed',
    detail: 'A origem da requisição não é permitida.',
    when: 'A request of the console changes something, and its `Origin` or `Referer` is missing or neither the public address of the API nor in `GWK_API_CONSOLE_ORIGINS`.',
    then: 'Open the console at its public address.',
  },
  'no-account': {
    status: 403,
    title: 'No access to the account',
    detail: 'Esta pessoa não é membro da conta.',
    when: 'A request by session names no account in `X-Gwk-Account`, or one of which the person is not a member.',
    then: 'Name an account of `GET /console/api/session`.',
  },
  'handoff-invalid': {
    status: 401,
    title: 'Sign-in link not valid',
    detail: 'O link de acesso já foi usado, expirou ou não existe.',
    when: 'The sign-in link was used, is too old or never existed.',
    then: 'Ask for another link: `gwk user handoff`, or `gwk console` on one machine.',
  },
} as const;
