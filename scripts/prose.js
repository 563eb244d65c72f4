// Checks words and sentences (make prose).
import '../test/repository/prose/check.js';
