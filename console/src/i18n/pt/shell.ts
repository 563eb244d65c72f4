export const common = {
  loading: 'Carregando',
  retry: 'Tentar de novo',
  cancel: 'Cancelar',
  close: 'Fechar',
  save: 'Salvar',
  saved: 'Salvo.',
  create: 'Criar',
  delete: 'Excluir',
  copy: 'Copiar',
  copied: 'Copiado',
  more: 'Carregar mais',
  never: 'nunca',
  all: 'Todos',
  none: 'Nenhum',
  yes: 'Sim',
  no: 'Não',
  actions: 'Ações',
  name: 'Nome',
  state: 'Estado',
  kind: 'Tipo',
  phone: 'Telefone',
  time: 'Horário',
  number: 'Número',
  numbers: 'Números',
  created: 'Criado',
  allNumbers: 'Todos os números',
  shownOnce: 'Isto só aparece agora. Copie para um lugar seguro.',
  typeName: 'Digite {{name}} para confirmar',
};

export const signIn = {
  title: 'Entrar',
  email: 'E-mail',
  password: 'Senha',
  submit: 'Entrar',
  help: 'Esqueceu a senha? Peça ao administrador deste gateway para redefini-la.',
  codeTitle: 'Segundo fator',
  code: 'Código',
  codeHelp: 'Digite os seis dígitos do aplicativo autenticador ou um código de reserva.',
  confirm: 'Confirmar',
  back: 'Voltar para e-mail e senha',
};

export const handoff = {
  title: 'Entrando',
  failed:
    'Um link de entrada vale uma vez e por pouco tempo. Peça outro link ou entre pela página de entrada.',
  signIn: 'Ir para a entrada',
  other: 'Link de outra pessoa',
  question:
    'Você entrou como {{former}}. Este link entra como {{email}} e encerra a sua sessão neste navegador. Continue só se você esperava o link.',
  continue: 'Continuar como {{email}}',
  stay: 'Ficar como {{email}}',
};

export const noAccount = {
  title: 'Nenhuma conta ainda',
  text: '{{email}} não é membro de nenhuma conta. Peça um convite a um proprietário da conta.',
};

export const notFound = {
  title: 'Página não encontrada',
  text: 'Esta página não existe, ou você não pode vê-la.',
  home: 'Ir para a página inicial',
};

export const noAccess = {
  title: 'Esta página não faz parte do seu papel',
  text: 'Peça outro papel, ou acesso a todos os números, a um proprietário ou administrador da conta.',
};

export const routeError = {
  title: 'Não foi possível carregar a página',
  text: 'O console provavelmente foi atualizado. Carregue de novo para obter a nova versão.',
  reload: 'Carregar de novo',
};

export const shell = {
  menu: 'Menu',
  navigation: 'Navegação principal',
  account: 'Conta',
  language: 'Idioma',
  useLight: 'Usar cores claras',
  useDark: 'Usar cores escuras',
  user: 'Seu usuário',
  signOut: 'Sair',
  nav: {
    overview: 'Visão geral',
    numbers: 'Números',
    conversations: 'Conversas',
    messages: 'Mensagens',
    optOuts: 'Descadastros',
    webhooks: 'Webhooks',
    events: 'Eventos',
    keys: 'Chaves de API',
    team: 'Equipe',
    account: 'Conta',
    alertContacts: 'Contatos de alerta',
    auditLog: 'Auditoria',
    formats: 'Formatos',
  },
  mfaTitle: 'Configure um segundo fator',
  mfaText: 'O seu acesso exige um segundo fator. Todas as páginas se abrem quando você o configurar aqui.',
  profile: 'Perfil',
};

export const problems = {
  unexpected: 'Erro inesperado',
  unreachable: 'Não foi possível acessar o gateway',
  requestId: 'Id da requisição',
  more: 'Sobre este erro',
  advice: {
    network: 'Verifique a sua conexão e tente de novo.',
    unauthorized: 'Entre de novo.',
    forbidden: 'O seu papel não permite isto. Fale com um proprietário ou administrador da conta.',
    noAccount: 'Você não é membro desta conta. Peça um convite a um proprietário ou administrador dela.',
    suspended:
      'A conta está suspensa: pode ler, mas não enviar nem criar nada. Fale com o operador deste gateway.',
    wait: 'Espere {{duration}} e tente de novo.',
    credentials: 'Confira o e-mail e a senha.',
    passwordsOff: 'Entre com o provedor da sua organização.',
    factorLink:
      'Peça uma nova senha na página de acesso e entre em até 30 minutos, ou peça um link a um administrador.',
    recentSignIn: 'Saia, entre de novo e repita em até 15 minutos.',
    tooManyPasskeys: 'Remova uma chave de acesso que não usa.',
    code: 'Confira o código. Se um aplicativo o gerou, confira também o relógio do telefone.',
    signInAgain: 'A entrada demorou demais. Digite e-mail e senha de novo.',
    secondFactor: 'Primeiro configure um segundo fator no seu perfil.',
    userExists: 'Este e-mail já tem um usuário. Entre com ele e depois participe da conta.',
    handoff: 'O link já foi usado ou é antigo demais. Peça outro.',
    invitation: 'O convite foi usado, cancelado ou tem mais de 7 dias. Peça outro.',
    password:
      'Use pelo menos 12 caracteres: algumas palavras que não combinam, e não apenas palavras comuns, o seu e-mail ou uma só palavra com números.',
    reload: 'A página está desatualizada. Carregue de novo e repita a alteração.',
    origin: 'Abra o console no endereço dele.',
    notFound: 'Foi excluído, ou você não pode vê-lo. Volte para a lista.',
    retry: 'Tente de novo. Se falhar outra vez, informe o id da requisição ao operador deste gateway.',
    lastOwner: 'Antes, torne outro membro proprietário.',
    correct: 'Corrija os valores e tente de novo.',
  },
};
