/**
 * The table of problems: the source of responses, documentation and tests. `title` is stable and in English. `detail`
 * is the default text in Portuguese; a response may have a more specific one.
 */
interface ProblemDefinition {
  status: number;
  title: string;
  detail: string;
}

const define = <T extends Record<string, ProblemDefinition>>(table: T): T => table;

export const PROBLEMS = define({
  unauthorized: {
    status: 401,
    title: 'Missing, invalid or revoked API key',
    detail: 'Chave de API ausente, inválida ou revogada.',
  },
  'insufficient-scope': {
    status: 403,
    title: 'API key lacks the required scope',
    detail: 'A chave de API não tem o escopo exigido por esta operação.',
  },
  forbidden: { status: 403, title: 'Action not allowed', detail: 'Esta ação não é permitida.' },
  'account-suspended': {
    status: 403,
    title: 'Account suspended',
    detail: 'A conta está suspensa; envios estão bloqueados.',
  },
  'validation-error': {
    status: 422,
    title: 'Invalid request',
    detail: 'Há campos inválidos na requisição; veja `errors`.',
  },
  'invalid-message': { status: 422, title: 'Message badly built', detail: 'A mensagem está malformada.' },
  'invalid-phone': {
    status: 422,
    title: 'Invalid phone number',
    detail: 'O telefone deve ter de 8 a 15 dígitos, com código do país e de área.',
  },
  'invalid-reply-to': {
    status: 422,
    title: 'Quoted message cannot be quoted',
    detail: 'A mensagem citada não existe nesta instância ou ainda não saiu.',
  },
  'invalid-policy': { status: 422, title: 'Invalid policy value', detail: 'Valor de política inválido.' },
  'invalid-timezone': {
    status: 422,
    title: 'Unknown time zone',
    detail: 'Fuso horário desconhecido; use um nome IANA, como America/Sao_Paulo.',
  },
  'invalid-month': { status: 422, title: 'Invalid month', detail: 'O mês deve ter o formato AAAA-MM.' },
  'invalid-webhook-url': {
    status: 422,
    title: 'Invalid webhook URL',
    detail: 'A URL do webhook deve ser HTTPS e ter um endereço público.',
  },
  'invalid-cursor': {
    status: 400,
    title: 'Invalid or expired cursor',
    detail: 'Cursor inválido ou expirado; recomece sem cursor.',
  },
  'invalid-idempotency-key': {
    status: 400,
    title: 'Invalid Idempotency-Key',
    detail: 'O cabeçalho Idempotency-Key deve ter de 1 a 255 caracteres.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'Idempotency-Key reused with another body',
    detail: 'Esta Idempotency-Key já foi usada com outro corpo nas últimas 24 horas.',
  },
  'idempotency-in-progress': {
    status: 409,
    title: 'Request with this Idempotency-Key in progress',
    detail: 'A primeira requisição com esta Idempotency-Key ainda está em andamento.',
  },
  'precondition-failed': {
    status: 412,
    title: 'Resource changed',
    detail: 'O recurso mudou desde a leitura; leia de novo e repita.',
  },
  'not-found': { status: 404, title: 'Not found', detail: 'O recurso não existe.' },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    detail: 'Este método não é aceito nesta rota.',
  },
  'instance-limit-reached': {
    status: 409,
    title: 'Instance limit reached',
    detail: 'O plano não permite mais instâncias.',
  },
  'instance-name-taken': {
    status: 409,
    title: 'Instance name taken',
    detail: 'Já existe uma instância com este nome na conta.',
  },
  'sandbox-limit-reached': {
    status: 409,
    title: 'Sandbox limit reached',
    detail: 'A conta já tem 3 instâncias sandbox.',
  },
  'not-sandbox': {
    status: 409,
    title: 'Not a sandbox instance',
    detail: 'A simulação de recebimento só existe em instâncias sandbox.',
  },
  'already-paired': {
    status: 409,
    title: 'Instance already paired',
    detail: 'A instância já está pareada; desconecte-a antes.',
  },
  'pairing-failed': { status: 502, title: 'Pairing refused', detail: 'A rede recusou o pareamento.' },
  'engine-unavailable': {
    status: 503,
    title: 'Connection engine unavailable',
    detail: 'O motor de conexão não respondeu a tempo; tente de novo.',
  },
  'contact-opted-out': {
    status: 422,
    title: 'Contact opted out',
    detail: 'O contato pediu para não receber mensagens.',
  },
  'policy-new-contacts-limit': {
    status: 429,
    title: 'New contacts limit reached',
    detail: 'A instância atingiu o limite de contatos novos nas últimas 24 horas.',
  },
  'policy-mass-send-blocked': {
    status: 422,
    title: 'Mass send blocked',
    detail: 'O mesmo texto foi enviado a muitos contatos novos em pouco tempo.',
  },
  'policy-outside-hours': {
    status: 422,
    title: 'Outside active hours',
    detail: 'Fora da janela de horário da instância para contatos que não escreveram nas últimas 24 horas.',
  },
  'rate-limited': {
    status: 429,
    title: 'Rate limit exceeded',
    detail: 'O limite de requisições por minuto foi excedido.',
  },
  'media-not-found': {
    status: 422,
    title: 'Media not found',
    detail: 'O arquivo não existe ou expirou (30 dias).',
  },
  'media-expired': { status: 410, title: 'Media expired', detail: 'O arquivo expirou.' },
  'file-too-large': {
    status: 413,
    title: 'Content too large',
    detail: 'O conteúdo excede o limite de tamanho.',
  },
  'empty-file': { status: 422, title: 'Empty file', detail: 'O arquivo enviado está vazio.' },
  'message-not-sent': { status: 409, title: 'Message has not left', detail: 'A mensagem ainda não saiu.' },
  'not-editable': {
    status: 409,
    title: 'Message not editable',
    detail: 'Só mensagens de texto enviadas podem ser editadas.',
  },
  'edit-window-closed': {
    status: 409,
    title: 'Edit window closed',
    detail: 'Passaram-se mais de 15 minutos do envio.',
  },
  'message-sending': {
    status: 409,
    title: 'Message is leaving',
    detail: 'A mensagem já está saindo e não pode ser cancelada.',
  },
  'webhook-limit-reached': {
    status: 409,
    title: 'Webhook limit reached',
    detail: 'A conta já tem 10 destinos de webhook.',
  },
  'delivery-pending': {
    status: 409,
    title: 'Delivery in progress',
    detail: 'A entrega ainda está em andamento.',
  },
  'internal-error': { status: 500, title: 'Unexpected error', detail: 'Ocorreu um erro inesperado.' },
});

export type ProblemCode = keyof typeof PROBLEMS;

/** One invalid field; `path` is dotted and starts at the root of the body. */
export interface FieldError {
  path: string;
  code: string;
  message: string;
}

interface ProblemExtras {
  /** Portuguese text instead of the one in the table. */
  detail?: string;
  errors?: FieldError[];
  required_scope?: string;
  /** Seconds, sent in the header `Retry-After`, not in the body. */
  retryAfter?: number;
}

/** An error that the API answers as `application/problem+json`. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  constructor(code: ProblemCode, extras: ProblemExtras = {}) {
    super(`${code}: ${extras.detail ?? PROBLEMS[code].title}`);
    this.name = 'Problem';
    this.code = code;
    this.extras = extras;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  request_id: string;
  errors?: FieldError[];
  required_scope?: string;
}

/** @returns the RFC 9457 body of a problem; `path` is the request path without the query */
export function buildProblemBody(
  problem: Problem,
  where: { docsUrl: string; path: string; requestId: string },
): ProblemBody {
  const { status, title, detail } = PROBLEMS[problem.code];
  const { errors, required_scope } = problem.extras;
  return {
    type: `${where.docsUrl}/problems/${problem.code}`,
    title,
    status,
    detail: problem.extras.detail ?? detail,
    instance: where.path,
    request_id: where.requestId,
    ...(errors && { errors }),
    ...(required_scope && { required_scope }),
  };
}
