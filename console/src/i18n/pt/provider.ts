export const provider = {
  signIn: 'Entrar com {{name}}',
  failedTitle: 'A entrada não foi concluída',
  failed: 'Ela foi cancelada, demorou mais de 10 minutos ou começou em outro navegador. Você pode recomeçar.',
  again: 'Voltar para a entrada',
};
