"""Language models behind one seam (`protocols.Model`); one file per provider."""
