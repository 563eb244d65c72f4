export const health = {
  of: 'de 100',
  score: 'Nota de saúde',
  help: 'A nota estima o risco de banimento pelos últimos dias.',
  computed: 'Calculada',
  warmingUp: 'Este número é novo. O limite de contatos novos é menor; isso termina',
  recommendations: 'Recomendações',
  penalty: '−{{points}} pontos',
  risk: { low: 'Risco baixo', medium: 'Risco médio', high: 'Risco alto' },
  status: { ok: 'bom', attention: 'atenção', bad: 'ruim', info: 'informação' },
};
